"""Searching the texts of a world's runs: prompts, replies, calls and their results.

An index, where the storage keeps one, names the records; the journal says what is in them. The
index is brought up to date when someone searches, so that no run waits for it. Without an
index, and for what one does not cover, the records are read, newest first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

from msgspec import Struct

from artificer.errors import ArtificerError, NotFoundError, OperatorError, TamperedError
from artificer.ports import (
    BlobStore,
    Found,
    Indexed,
    IndexedText,
    Journal,
    Ordered,
    Placed,
    Reached,
    Record,
    SearchIndex,
    Storage,
    TextQuery,
)
from artificer.runtime.listing.runs import newest
from artificer.runtime.listing.searched import SearchedText, searched_text
from artificer.runtime.load import first_spec
from artificer.runtime.progress import ReportProgress, unreported
from artificer.values.arguments import optional, plain, whole
from artificer.values.text import well_formed
from artificer.values.words import find_spans, terms_of, words_of

AROUND = 80
"""Characters of a snippet on each side of the first word."""

PAGE = 1_000
"""Positions of the world that are read, and indexed in one transaction, at once."""


class Hit(Struct, frozen=True):
    """A record whose text holds all words of a search. ``seq`` is its number in the run.

    ``role`` is ``prompt``, ``follow-up``, ``steer``, ``reply`` or ``result``; ``marks`` are the
    places of the words in the snippet, each with its begin and end.
    """

    run: str
    seq: int
    event: str
    role: str
    at: int
    snippet: str
    marks: tuple[tuple[int, int], ...] = ()


class Searcher:
    """Searches one world."""

    def __init__(
        self, journal: Journal, blobs: BlobStore, index: SearchIndex | None, query: TextQuery
    ) -> None:
        self._journal = journal
        self._blobs = blobs
        self._index = index
        self._query = query
        self._kinds: dict[str, bool] = {}

    async def hits(self, limit: int, progress: ReportProgress = unreported) -> list[Hit]:
        """Return the newest ``limit`` records that hold all the words, newest first."""
        found: list[Hit] = []
        limit = whole("limit", limit)
        if not self._query.terms or limit < 1:
            return found
        async for record in self._candidates(limit, progress):
            hit = await self._hit(record)
            if hit is not None:
                found.append(hit)
                if len(found) == limit:
                    break
        return found

    async def _candidates(self, limit: int, progress: ReportProgress) -> AsyncIterator[Record]:
        journal = self._journal
        if not isinstance(journal, Ordered):
            async for record in self._every_run():
                yield record
            return
        upto, covered = await journal.position(), 0
        try:  # an index is a cache: where it fails, the journal is read
            if self._index is not None:
                covered = await self._update(journal, self._index, upto, progress)
            async for record in _between(journal, covered, upto):
                yield record
            upto = covered
            while self._index is not None and upto:
                before, query = upto + 1, self._query
                named = await asyncio.to_thread(self._index.find, query, before, limit)
                for one in named:
                    found = await self._read(one)
                    if found is not None:
                        yield found
                    upto = one.position - 1
                if len(named) < limit:
                    return
        except TamperedError:
            raise
        except OperatorError:
            async for record in _between(journal, 0, upto):
                yield record

    async def _every_run(self) -> AsyncIterator[Record]:
        """Yield the records of a journal that has no order of its own, newest run first."""
        async for head in newest(self._journal):
            try:
                records = await self._journal.read(head.run)
            except NotFoundError:  # its contents were pruned
                continue
            for record in reversed(records):
                yield record

    async def _update(
        self, journal: Ordered, index: SearchIndex, end: int, progress: ReportProgress
    ) -> int:
        """Bring the index up to date; return up to where it may be used."""
        reached = await asyncio.to_thread(index.reached)
        if reached.position and await journal.world_at(reached.position) != reached.world:
            await asyncio.to_thread(index.clear)  # of another history, as after a restored backup
            reached = await asyncio.to_thread(index.reached)
            if reached.position:  # it is only read
                return 0
        at = reached.position
        while at < end:
            upto = min(at + PAGE, end)
            page = await journal.placed(at, upto)
            if page and not await asyncio.to_thread(self._add, index, reached.position, page):
                now = await asyncio.to_thread(index.reached)
                if now.position <= reached.position:  # it is only read, or was cleared meanwhile
                    return at if now == reached else now.position
                reached, at = now, now.position  # another process was faster
                continue
            if page:
                reached = Reached(page[-1].position, page[-1].world)
                progress("indexing records", upto, end)
            at = upto
        return at

    def _add(self, index: SearchIndex, after: int, page: Sequence[Placed]) -> bool:
        texts = [text for placed in page if (text := self._indexed(placed)) is not None]
        return index.add(after, texts, Reached(page[-1].position, page[-1].world))

    def _indexed(self, placed: Placed) -> IndexedText | None:
        record = placed.record
        text = self._text(record)
        if text is None:
            return None
        words = words_of(text.text)
        return IndexedText(placed.position, record.run, record.seq, text.at, words, text.kind)

    async def _read(self, found: Found) -> Record | None:
        try:
            records = await self._journal.read(found.run, found.seq - 1, 1)
        except NotFoundError:  # pruned by a release that knows no index
            return None
        return records[0] if records else None

    async def _hit(self, record: Record) -> Hit | None:
        text = self._text(record)
        if text is None or text.at < self._query.since:
            return None
        spans = find_spans(self._query.terms, text.text)
        if not spans or not await self._is_of_kind(record.run):
            return None
        snippet, marks = _snippet(text.text, spans)
        return Hit(record.run, record.seq, text.event, text.role, text.at, snippet, marks)

    async def _is_of_kind(self, run: str) -> bool:
        if self._query.kind is None:
            return True
        if run not in self._kinds:
            spec = await first_spec(self._journal, self._blobs, run)
            self._kinds[run] = spec is not None and spec.kind == self._query.kind
        return self._kinds[run]

    def _text(self, record: Record) -> SearchedText | None:
        try:
            return searched_text(record, self._blobs)
        except (ArtificerError, ValueError):
            return None  # `verify` reports it


async def _between(journal: Ordered, after: int, upto: int) -> AsyncIterator[Record]:
    """Yield the records between two positions, newest first."""
    for end in range(upto, after, -PAGE):
        for placed in reversed(await journal.placed(max(after, end - PAGE), end)):
            yield placed.record


def text_query(words: str, kind: str | None = None, since: int = 0) -> TextQuery:
    """Return the query for words, ``"phrases"`` and beginnings of words (``word*``)."""
    return TextQuery(terms_of(_words(words)), optional("kind", kind), whole("since", since))


def searcher(storage: Storage, words: str, kind: str | None, since: int) -> Searcher:
    """Return what searches a world by its index, if its storage has one."""
    index = storage.search_index if isinstance(storage, Indexed) else None
    return Searcher(storage.journal, storage.blobs, index, text_query(words, kind, since))


def _words(words: object) -> str:
    return plain("words", well_formed(words) if isinstance(words, str) else words)


def _snippet(
    text: str, spans: Sequence[tuple[int, int]]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the text around the first span on one line, and where spans are in it."""
    start, end = max(0, spans[0][0] - AROUND), min(len(text), spans[0][0] + AROUND)
    pieces, marks, length = ["…" if start else ""], [], 1 if start else 0
    shown = [span for span in spans if span[1] <= end]
    edges = [start, *(edge for span in _apart(shown) for edge in span), end]
    for number, (begin, stop) in enumerate(pairwise(edges)):
        piece = _flat(text[begin:stop], at_start=pieces[-1][-1:] in ("", "…", " "))
        if number % 2 and piece:
            marks.append((length, length + len(piece)))
        if piece:
            pieces.append(piece)
            length += len(piece)
    pieces.append("…" if end < len(text) else "")
    return "".join(pieces), tuple(marks)


def _apart(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans without those that overlap the one before."""
    kept: list[tuple[int, int]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _flat(text: str, *, at_start: bool) -> str:
    """Return a piece of text with each run of white space as one space."""
    words = " ".join(text.split())
    before = " " if text[:1].isspace() and not at_start else ""
    after = " " if words and text[-1:].isspace() else ""
    return f"{before}{words}{after}"
