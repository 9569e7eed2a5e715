"""Searching the texts of a world's runs: prompts, replies, calls and their results."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from artificer.core import events as ev
from artificer.core.record import EventLine, Line
from artificer.errors import NotFoundError
from artificer.ports import BlobStore, Journal
from artificer.runtime.listing import newest
from artificer.runtime.load import read_chain
from artificer.values.blocks import TextBlock, ToolUseBlock

AROUND = 80
"""Characters of a snippet on each side of the first word."""


class Hit(Struct, frozen=True):
    """A record whose text holds all words of a search. ``seq`` is its number in the run."""

    run: str
    seq: int
    event: str
    snippet: str


async def search(journal: Journal, blobs: BlobStore, words: str, limit: int) -> list[Hit]:
    """Return the first ``limit`` records that hold all the words, newest run first.

    Words are compared without case, and as parts of words. Raises TamperedError.
    """
    wanted = words.casefold().split()
    found: list[Hit] = []
    if not wanted:
        return found
    async for head in newest(journal):
        try:
            records = await journal.read(head.run)
        except NotFoundError:  # its contents were pruned
            continue
        for line in read_chain(head.run, records, blobs):
            for text in _texts(line):
                if len(found) == limit:
                    return found
                folded = text.casefold()
                if all(word in folded for word in wanted):
                    found.append(_hit(line, text, folded.index(wanted[0])))
    return found


def _texts(line: Line) -> Iterator[str]:
    """Yield the texts of a record that people and models wrote or read."""
    event = line.event if isinstance(line, EventLine) else None
    match event:
        case ev.PromptReceived(spec=spec):
            yield spec.prompt
        case ev.FollowUpReceived(text=text) | ev.Steered(text=text):
            yield text
        case ev.ModelResponded(blocks=blocks):
            for block in blocks:
                if isinstance(block, TextBlock):
                    yield block.text
                elif isinstance(block, ToolUseBlock):
                    yield f"{block.name} {block.arguments}"
        case ev.ToolReturned(content=content):
            yield content
        case _:
            pass


def _hit(line: Line, text: str, at: int) -> Hit:
    start, end = max(0, at - AROUND), at + AROUND
    snippet = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
    event = line.event.type if isinstance(line, EventLine) else ""
    return Hit(line.run, line.seq, event, " ".join(snippet.split()))
