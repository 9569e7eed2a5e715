"""``artificer search``: find the records that hold some words."""

from __future__ import annotations

import sys

from msgspec import to_builtins

from artificer.archive import Archive
from artificer.cli.commands.inspect import SearchOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import clean, note, out_json, out_styled, styled
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import milliseconds
from artificer.cli.terminal.working import working
from artificer.runtime.listing.search import Hit
from artificer.system.utc import utc_text
from artificer.values.words import terms_of


async def search(settings: Settings, options: SearchOptions) -> Exit:
    """Print the records that hold all the words, newest first, as text or as JSON."""
    words = " ".join(options.words)
    since = milliseconds(options.since) or 0
    async with Archive.open(configuration(settings), indexing=True) as archive:
        with working(settings) as report:
            hits = await archive.search(
                words, options.limit + 1, kind=options.kind, since=since, progress=report
            )
    shown = hits[: options.limit]
    if options.as_json:
        out_json(to_builtins(shown))
        return Exit.OK
    for hit in shown:
        out_styled(_head(hit))
        out_styled(f"  {_snippet(hit)}")
    if not shown:
        note("Nothing found." if terms_of(words) else "No word to search for.")
    elif len(hits) > len(shown):
        note("There are older hits: --limit shows more.")
    return Exit.OK


def _head(hit: Hit) -> str:
    run = styled(clean(hit.run), "good", sys.stdout)
    return f"{run}  {utc_text(hit.at)}  {hit.role} (record {hit.seq})"


def _snippet(hit: Hit) -> str:
    pieces, last = [], 0
    for begin, end in hit.marks:
        pieces.append(clean(hit.snippet[last:begin]))
        pieces.append(styled(clean(hit.snippet[begin:end]), "strong", sys.stdout))
        last = end
    return "".join([*pieces, clean(hit.snippet[last:])])
