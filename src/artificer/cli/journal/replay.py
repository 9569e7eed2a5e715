"""``artificer replay``: prove that a journal reproduces itself."""

from __future__ import annotations

from msgspec import to_builtins

from artificer.cli.commands.journal import ReplayOptions
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.runtime.proving.replay import Replay


async def replay(settings: Settings, options: ReplayOptions) -> Exit:
    """Print the result of the replay; return 1 for a divergence."""
    async with opened_archive(settings) as archive:
        result = await archive.replay(await archive.find(options.run))
    if options.as_json:
        out_json({"identical": result.identical, **to_builtins(result)})
    else:
        _print(result)
    return Exit.OK if result.identical else Exit.WRONG


def _print(result: Replay) -> None:
    counts = (
        f"{count(result.events, 'event')}, {count(result.intents, 'intent')}, "
        f"{count(result.requests, 'model request')}"
    )
    if result.divergence is None:
        out(f"identical: {counts}")
        out(f"state {result.digest}")
    else:
        where = result.divergence
        out(f"diverged at record {where.seq}: {where.what}")
        out(f"  recorded  {where.expected}")
        out(f"  replayed  {where.actual}")
        out(f"before it, identical: {counts}")
    if result.requests_unchecked:
        unchecked = count(result.requests_unchecked, "model request")
        note(f"{unchecked} not recomputed: the provider is not configured here.")
    if result.verdicts_unchecked:
        unchecked = count(result.verdicts_unchecked, "verdict")
        note(f"{unchecked} taken as recorded: evaluating Cedar policies needs the extra 'cedar'.")
    if result.replies_unchecked:
        note(
            f"replies taken as recorded: {result.replies_unchecked:,}. "
            "The type that validated them is not in the journal."
        )
    for drift in result.drift:
        note(f"this release would word or judge differently: {drift}")
