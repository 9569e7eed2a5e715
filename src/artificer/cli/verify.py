"""``artificer verify``: every record, every chain, every blob."""

from __future__ import annotations

from dataclasses import asdict

import click

from artificer.archive import Archive
from artificer.cli.console import note, out, out_json
from artificer.cli.drive import in_archive
from artificer.cli.exits import Exit
from artificer.cli.settings import Settings, pass_settings
from artificer.cli.words import count


@click.command(name="verify")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@pass_settings
def command(settings: Settings, as_json: bool) -> int:
    """Check every record, chain and blob of this project; print all that is wrong, exit with 1.

    Each run's head is printed: the hash of its last record stands for all of its records. Keep the
    heads somewhere else, and not even somebody who rewrites the whole journal goes unnoticed.

    \b
    Example:
      artificer verify > heads.txt
    """

    async def work(world: Archive) -> Exit:
        result = await world.verify()
        if as_json:
            out_json({"sound": result.sound, **asdict(result)})
            return Exit.OK if result.sound else Exit.WRONG
        for problem in result.problems:
            out(f"problem: {problem}")
        for run, head in result.heads.items():
            out(f"{run}  {head}")
        counts = (
            f"{count(result.runs, 'run')}, {count(result.records, 'record')}, "
            f"{count(result.blobs, 'blob')}"
        )
        if result.sound:
            note(f"sound: {counts}", "good")
            return Exit.OK
        note(f"{count(len(result.problems), 'problem')} in {counts}", "bad")
        return Exit.WRONG

    return in_archive(settings, work)
