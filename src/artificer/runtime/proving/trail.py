"""The audit trail of a world: who decided what, and which effects happened, in all runs.

Records are read in the order of the world's chain, page by page, up to where the chain ends when
the reading begins. The last entry names that end, as ``verify`` does, and the digest of all lines
before it: kept elsewhere, it proves later that the trail and the world are still the same.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from artificer.core.intents import AskApproval, CallTool
from artificer.core.record import IntentLine, Line, decode
from artificer.errors import ArtificerError, NotFoundError, OperatorError
from artificer.ports import BlobStore, Journal, Ordered, Placed, Record
from artificer.runtime.proving.decided import CALLS, NAMES, call_of, decided_by
from artificer.values.base import JsonObject, JsonValue

PAGE = 500
"""Positions of the world that are read at once."""

REMEMBERED = 10_000
"""Calls whose tool is remembered until they return. That of any other one is read again."""

OfCall = (AskApproval, CallTool)
"""The intents that are about a call."""


class Cleaner(Protocol):
    """Takes secrets out of JSON values."""

    def clean_value(self, value: JsonValue) -> JsonValue:
        """Return the value without secrets."""


class _Kind(Struct):
    type: str = ""
    at: int = 0
    n: int = 0


class _Glimpse(Struct):
    """As much of a record as shows whether it has to be read."""

    event: _Kind | None = None
    intent: _Kind | None = None


_glimpse = msgspec.json.Decoder(_Glimpse)


def line_of(entry: JsonObject) -> str:
    """Return an entry as a line, in ASCII, so that it holds no control character."""
    return json.dumps(entry).replace("\x7f", "\\u007f") + "\n"


class Trail:
    """Reads the trail of one world."""

    def __init__(
        self,
        journal: Journal,
        blobs: BlobStore,
        cleaner: Cleaner,
        *,
        page: int = PAGE,
        remembered: int = REMEMBERED,
    ) -> None:
        self._page = page
        self._remembered = remembered
        self._journal = journal
        self._blobs = blobs
        self._cleaner = cleaner
        self._calls: dict[tuple[str, int], JsonObject] = {}
        self._last: tuple[str, int | None] = ("", None)

    async def entries(self, since: int = 0) -> AsyncIterator[JsonObject]:
        """Yield what was recorded at ``since`` or later, and last where the world's chain ended.

        Raises:
            OperatorError: this journal has no order of the whole world.
            TamperedError: a record is not what was written.
        """
        journal = self._journal
        if not isinstance(journal, Ordered):
            raise OperatorError(
                "This world's storage does not keep all its records in order.",
                hint="To look at one run: artificer show RUN",
            )
        end, lines, count = await journal.position(), sha256(), 0
        for after in range(0, end, self._page):
            for placed in await journal.placed(after, min(after + self._page, end)):
                for entry in await self._entries_of(placed, since):
                    lines.update(line_of(entry).encode())
                    count += 1
                    yield entry
        yield {
            "what": "end",
            "count": count,
            "since": since,
            "digest": f"sha256:{lines.hexdigest()}",
            "world": {"seq": end, "hash": await journal.world_at(end) if end else ""},
        }

    async def _entries_of(self, placed: Placed, since: int) -> list[JsonObject]:
        """Return the entries of a record: none for most, one for each verdict about calls."""
        record = placed.record
        try:
            glimpse = _glimpse.decode(record.body or b"{}")
        except (ValueError, RecursionError):
            return [self._entry(placed, None, {"what": "unreadable"})]
        kind = glimpse.event or glimpse.intent
        if kind is None:  # the contents were pruned, as a later record says
            return []
        at = self._time(record.run, glimpse)
        early = at is not None and at < since
        if kind.type not in NAMES or (early and kind.type not in CALLS):
            return []
        try:
            line = await asyncio.to_thread(self._decoded, record, kind.type)
            found = await self._completed(record, line)
        except (ArtificerError, ValueError):
            found = [{"what": "unreadable"}]  # `verify` says why
        return [] if early else [self._entry(placed, at, facts) for facts in found]

    def _time(self, run: str, glimpse: _Glimpse) -> int | None:
        """Return when a record was made; an intent is committed behind the event it follows."""
        if glimpse.event is not None:
            self._last = (run, glimpse.event.at)
        return self._last[1] if self._last[0] == run else None

    def _entry(self, placed: Placed, at: int | None, facts: JsonObject) -> JsonObject:
        record = placed.record
        place: JsonObject = {"position": placed.position, "run": record.run, "record": record.seq}
        cleaned: Any = self._cleaner.clean_value(facts)
        return {**place, "hash": record.hash, "at": at, **cleaned}

    def _decoded(self, record: Record, kind: str) -> Line:
        return decode(record.body, _nothing if kind == "ToolReturned" else self._blobs.get)

    async def _completed(self, record: Record, line: Line) -> list[JsonObject]:
        """Return what a record says, with the tool of the call that it is about."""
        if isinstance(line, IntentLine):
            if isinstance(line.intent, OfCall):
                self._remember(record.run, line.intent.n, call_of(line.intent))
            return decided_by(line.intent)
        facts = decided_by(line.event)
        number = getattr(line.event, "intent", None)
        if line.event.type not in CALLS or number is None:
            return facts
        call = self._calls.get((record.run, number))
        if call is None:
            call = self._remember(record.run, number, await self._sought(record, number))
        return [{**one, **call} for one in facts]

    def _remember(self, run: str, number: int, call: JsonObject) -> JsonObject:
        while len(self._calls) >= self._remembered:
            del self._calls[next(iter(self._calls))]
        self._calls[run, number] = call
        return call

    async def _sought(self, record: Record, number: int) -> JsonObject:
        """Find the call that a record is about among those before it; nothing if it is none."""
        for after in range(0, record.seq, self._page):
            try:
                page = await self._journal.read(record.run, after, self._page)
            except NotFoundError:  # its contents were pruned meanwhile
                return {}
            for one in page:
                intent = _glimpse.decode(one.body).intent
                if intent is not None and intent.n == number:
                    line = await asyncio.to_thread(self._decoded, one, intent.type)
                    found = line.intent if isinstance(line, IntentLine) else None
                    return call_of(found) if isinstance(found, OfCall) else {}
        return {}


def _nothing(_: str) -> bytes:
    """Stand for the long texts of a result: the trail does not show them."""
    return b""
