"""How events and intents become journal records, and records become events and intents again.

A record's body is canonical JSON. A string longer than ``INLINE_LIMIT`` is replaced by
``{"$blob": digest}`` and stored as a blob, so that a conversation is stored once, however often it
is sent. No event holds a free-form JSON object, so the marker cannot be forged by content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal

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


class EventLine(_Line):
    """An event, the digest of the state after it, and the blobs that it brought."""

    kind: ClassVar[Literal["event"]] = "event"
    event: Event
    state: NamedDigest
    outputs: OutputRefs | None = None


class IntentLine(_Line):
    """An intent and its digest. ``request`` is the digest of the request that Generate sends;
    it has none in a run that was cancelled where its provider was not known.

    ``tools`` names the blob of the tools in it, as the provider is given them.
    """

    kind: ClassVar[Literal["intent"]] = "intent"
    intent: Intent
    digest: NamedDigest
    request: NamedDigest | None = None
    tools: tuple[Digest, ...] = ()


Line = EventLine | IntentLine

_DOLLAR = ord("$")

_lines: ValueReader[EventLine | IntentLine] = ValueReader(EventLine | IntentLine, "the record")


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
        return _lines.read(body)
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
