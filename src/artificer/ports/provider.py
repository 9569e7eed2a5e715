"""The port to a model's API: a request in the provider's format, and the reply."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct, structs

from artificer.contracts.definition import ModelRequest, ToolDefinition
from artificer.values.base import JsonObject
from artificer.values.blob_text import with_blobs
from artificer.values.blocks import AttachedBlock, Message
from artificer.values.model import Delta, ModelFailure, ModelReply


class Memo(Struct):
    """A run's cache of its messages in wire format, so that each is mapped only once.

    Mapping the whole conversation again at every turn would take quadratic time.
    """

    _request: ModelRequest | None = None
    _fields: JsonObject = {}
    _key: object = None
    _known: int = 0
    _last: Message | None = None
    _items: list[JsonObject] = []

    def fields(
        self,
        request: ModelRequest,
        build: Callable[[ModelRequest], JsonObject],
        shared: object = None,
    ) -> JsonObject:
        """Map all but the conversation, calling ``build`` only if the request has changed.

        Runs with equal requests share the result if ``shared``, the only other thing it depends on,
        is the same object. The result must not be changed.
        """
        if request != self._request:
            self._fields = build(request) if shared is None else _common(request, build, shared)
            self._request = request
        return self._fields

    def items(
        self,
        key: object,
        messages: Sequence[Message],
        to_wire: Callable[[Message], list[JsonObject]],
    ) -> list[JsonObject]:
        """Map messages to wire items, calling ``to_wire`` only for those not seen before.

        ``key`` is everything else that the mapping depends on; a change discards the memo. The same
        growing list is returned every time, because a conversation only grows; when it is cut, a
        new memo starts.
        """
        known = self._known
        grown = known and len(messages) >= known and messages[known - 1] is self._last
        if key != self._key or not grown:
            self._key, self._items, known = key, [], 0
        for message in messages[known:]:
            self._items.extend(to_wire(message))
        self._known, self._last = len(messages), messages[-1] if messages else None
        return self._items


_recent: deque[tuple[object, ModelRequest, JsonObject]] = deque(maxlen=16)
"""Requests of this process without their conversations, and their fields. These may take 200 KB:
most runs of a process have the same."""


def _common(
    request: ModelRequest, build: Callable[[ModelRequest], JsonObject], shared: object
) -> JsonObject:
    for known, other, fields in tuple(_recent):
        # Schemas that Python calls equal, as of 1 and of true, may be different JSON.
        if known is shared and other.tools is request.tools and other == request:
            return fields
    fields = build(request)
    _recent.append((shared, request, fields))
    return fields


class PreparedRequest(Struct, frozen=True):
    """The body of one request as it is passed to the SDK, with its growing list kept apart.

    ``headers`` are additional headers, with references to secrets (``{_secret:name}``) that are
    replaced when it is sent.

    ``tools`` are the definitions behind the wire's tools. They are not sent: they are needed to map
    names and arguments in the reply back. ``whole`` is the list with the bytes of attachments,
    which are not part of the request's digest.
    """

    fields: JsonObject
    key: str
    items: list[JsonObject]
    tools: tuple[ToolDefinition, ...] = ()
    whole: list[JsonObject] | None = None
    headers: Mapping[str, str] | None = None

    @property
    def body(self) -> JsonObject:
        """The whole body, as it is sent."""
        return {**self.fields, self.key: list(self.items if self.whole is None else self.whole)}

    def with_blobs(self, fetch: Callable[[str], bytes]) -> PreparedRequest:
        """Return the request with the bytes of its attachments, as it is sent.

        ``fetch`` returns a blob's bytes. The digest of a request is made without them.
        """
        whole = [with_blobs(item, fetch) for item in self.items]
        return structs.replace(self, whole=whole)


class Provider(Protocol):
    """An adapter to a model's API."""

    @property
    def name(self) -> str:
        """The word before the slash in ``anthropic/claude-…``."""

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        """Map a request to the provider's format. Pure: it does no I/O and imports no SDK.

        ``messages`` is always paired: every tool call is followed by its one result.
        """

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Call the model. Retries are bounded; every failure is a value, never an exception.

        Cancelling the task closes the connection.
        """

    async def aclose(self) -> None:
        """Release connections and child processes. May be called more than once."""


@runtime_checkable
class Requiring(Protocol):
    """A provider with local requirements: an SDK, a model's file."""

    def require(self) -> None:
        """Raise MissingExtraError or NotFoundError if something is missing, before a run starts."""


@runtime_checkable
class Switching(Protocol):
    """The providers of a run with fallbacks; the run's state decides which one is used."""

    def with_left(self, fallbacks: int) -> Provider:
        """Return the provider of the model with this many fallbacks left."""


@runtime_checkable
class Attaching(Protocol):
    """A provider whose models read more than text."""

    def attachment_fault(self, block: AttachedBlock) -> str:
        """Return why a request cannot carry an attachment, or nothing.

        :meth:`Provider.prepare` then names the attachment in a text instead.
        """
