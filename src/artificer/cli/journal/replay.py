"""``artificer replay``: proof that a journal reproduces itself."""

from __future__ import annotations

from dataclasses import asdict

import click

from artificer.archive import Archive
from artificer.cli.common.drive import in_archive
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.runtime.replay import Replay


@click.command(name="replay")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@pass_settings
def command(settings: Settings, run: str, as_json: bool) -> int:
    """Reduce RUN's journal anew and compare every state, intent and model request, byte for byte.

    Nothing is asked of a model and no tool runs. Prints `identical` with the last state's digest,
    or names the first divergence and exits with 1.

    \b
    Example:
      artificer replay last
    """

    async def work(world: Archive) -> Exit:
        result = await world.replay(await world.find(run))
        if as_json:
            out_json({"identical": result.identical, **asdict(result)})
        else:
            _tell(result)
        return Exit.OK if result.identical else Exit.WRONG

    return in_archive(settings, work)


def _tell(result: Replay) -> None:
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
        note(f"{unchecked} taken as recorded: asking Cedar policies needs the extra 'cedar'.")
    if result.replies_unchecked:
        note(
            f"replies taken as recorded: {result.replies_unchecked:,}. "
            "The type that they had to fit is not in the journal."
        )
    for drift in result.drift:
        note(f"this release would word or judge differently: {drift}")
