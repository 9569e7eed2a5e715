"""How events and intents become journal records, and records become events and intents again.

A record's body is canonical JSON. A string longer than ``INLINE_LIMIT`` is replaced by
``{"$blob": digest}`` and stored as a blob, so that a conversation is stored once, however often it
is sent. No event holds a free-form JSON object, so the marker cannot be forged by content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Literal, get_args

from msgspec import Raw, Struct, structs

from artificer.core.events import Event
from artificer.core.intents import Intent
from artificer.core.outputs import OutputRefs
from artificer.core.spill import INLINE_LIMIT, spilled
from artificer.errors import InvalidValueError, TamperedError
from artificer.values.base import Digest, NamedDigest, Value, ValueReader
from artificer.values.canon import canonical_typed

FORMAT: Literal[1] = 1
"""Version of the record format. It changes only when older records would be read differently."""


class _Line(Value, tag_field="kind"):
    format: Literal[1] = FORMAT
    run: str
    seq: int
    prev: str


class _OfEvent(_Line):
    kind: ClassVar[Literal["event"]] = "event"
    state: NamedDigest
    outputs: OutputRefs | None = None


class EventLine(_OfEvent):
    """An event, the digest of the state after it, and the blobs that it brought."""

    event: Event


class _OfIntent(_Line):
    kind: ClassVar[Literal["intent"]] = "intent"
    digest: NamedDigest
    request: NamedDigest | None = None
    tools: tuple[Digest, ...] = ()


class IntentLine(_OfIntent):
    """An intent and its digest. ``request`` is the digest of the request that Generate sends;
    it has none in a run that was cancelled where its provider was not known.

    ``tools`` names the blob of the tools in it, as the provider is given them.
    """

    intent: Intent


Line = EventLine | IntentLine


class _UnreadEvent(_OfEvent):
    event: Raw


class _UnreadIntent(_OfIntent):
    intent: Raw


class _Tagged(Struct):
    type: str


FIRST_READS = 64
"""Records that a process reads kind by kind. A command that reads a short run would notice what it
takes msgspec to learn all kinds: as much as some thousand records.
"""


class LineReader:
    """Reads records: the first ones with what their own kinds take, the others more quickly."""

    def __init__(self) -> None:
        self._left = FIRST_READS
        self._all: ValueReader[Line] = ValueReader(Line, "the record")
        self.read: Callable[[bytes], Line] = self._read_first
        """Read a record. Raises InvalidValueError."""
        self._unread: ValueReader[_UnreadEvent | _UnreadIntent] = ValueReader(
            _UnreadEvent | _UnreadIntent, "the record"
        )
        self._tagged: ValueReader[_Tagged] = ValueReader(_Tagged, "the kind")
        self._events, self._intents = _by_tag(Event), _by_tag(Intent)

    def _read_first(self, body: bytes) -> Line:
        self._left -= 1
        if self._left <= 0:
            self.read = self._all.read
        with suppress(InvalidValueError, KeyError):  # the reader of all says what is wrong
            return self._read_one(body)
        return self._all.read(body)

    def _read_one(self, body: bytes) -> Line:
        unread = self._unread.read(body)
        members = structs.asdict(unread)
        if isinstance(unread, _UnreadEvent):
            return EventLine(**members | {"event": self._read_part(unread.event, self._events)})
        return IntentLine(**members | {"intent": self._read_part(unread.intent, self._intents)})

    def _read_part(self, part: Raw, kinds: Mapping[str, ValueReader[Any]]) -> Any:
        data = bytes(part)
        return kinds[self._tagged.read(data).type].read(data)


def _by_tag(union: Any) -> dict[str, ValueReader[Any]]:
    """Return a reader for each kind in a union."""
    tags = {str(kind.__struct_config__.tag): kind for kind in get_args(union)}
    return {tag: ValueReader(kind, tag) for tag, kind in tags.items()}


_DOLLAR = ord("$")

_records = LineReader()


def encode(line: EventLine | IntentLine) -> tuple[bytes, list[bytes]]:
    """Return the record's body, and the blobs that must be stored before it."""
    body = line.canonical()
    if len(body) <= INLINE_LIMIT:
        return body, []
    blobs: list[bytes] = []
    return canonical_typed(spilled(line.to_json(), blobs)), blobs


def decode(body: bytes, fetch: Callable[[str], bytes]) -> EventLine | IntentLine:
    """Read a record's body. ``fetch`` returns a blob's bytes.

    Raises:
        TamperedError: the body is not a record of this format.
    """
    try:
        if _DOLLAR in body and b'"$blob"' in body:  # one byte is found at a tenth of the cost
            body = json.dumps(json.loads(body, object_hook=_filler(fetch))).encode()
        return _records.read(body)
    except (ValueError, RecursionError, TypeError) as error:
        raise TamperedError(
            f"A journal record cannot be read: {_reason(error)}.",
            hint="A newer release may have written it; `artificer verify` shows the details.",
        ) from error


def events_of(lines: Iterable[Line]) -> list[Event]:
    """Return the events among records, in order."""
    return [line.event for line in lines if isinstance(line, EventLine)]


def _reason(error: Exception) -> str:
    """Where a record is wrong, without repeating what stands there."""
    if not isinstance(error, InvalidValueError):
        return type(error).__name__
    return f"{error.pointer or 'it'} {error.reason}"


def _filler(fetch: Callable[[str], bytes]) -> Callable[[dict[str, Any]], Any]:
    def fill(value: dict[str, Any]) -> Any:
        if value.keys() == {"$blob"}:
            return fetch(value["$blob"]).decode()
        return value

    return fill
