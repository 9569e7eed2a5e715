"""``artificer fsck``: everything that verify finds, and what nothing refers to."""

from __future__ import annotations

import click

from artificer.archive import Archive
from artificer.cli.common.drive import in_archive, in_world
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count


@click.command(name="fsck")
@click.option(
    "--repair", is_flag=True, help="Put tables back, put orphans aside, remove leftovers."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@pass_settings
def command(settings: Settings, repair: bool, as_json: bool) -> int:
    """Check the whole project: records, chains, heads, blobs, and files that are nobody's.

    A problem is something changed or missing; the exit code is then 1. --repair mends one kind:
    where the chain is whole, it puts the tables of budgets and workspaces back as the chain says.
    An orphan is a blob that nothing refers to, a leftover a file that was never finished: they take
    space and do no harm. --repair removes leftovers and moves orphans to blobs/quarantine. A
    foreign file is one that Artificer did not make: it is named, and never touched.

    \b
    Example:
      artificer fsck
      artificer fsck --repair
    """

    async def work(world: Archive) -> Exit:
        check = await world.fsck(repair=repair)
        if as_json:
            verification = check.verification.facts()
            out_json({"sound": check.sound, **vars(check), "verification": verification})
        else:
            for problem in check.verification.problems:
                out(f"problem: {problem}", "bad")
            for digest in check.orphans:
                out(f"orphan: {digest}")
            for path in check.leftovers:
                out(f"leftover: {path}")
            for path in check.foreign:
                out(f"foreign: {path}")
            for done in check.repaired:
                note(done)
            found = check.verification
            note(
                f"{count(len(found.problems), 'problem')}, {count(len(check.orphans), 'orphan')}, "
                f"{count(len(check.leftovers), 'leftover')} in {count(found.runs, 'run')}, "
                f"{count(found.records, 'record')}, {count(found.blobs, 'blob')}",
                "good" if check.sound else "bad",
            )
        return Exit.OK if check.sound else Exit.WRONG

    return in_world(settings, work) if repair else in_archive(settings, work)
