"""``artificer fsck``: check everything, and find unreferenced files."""

from __future__ import annotations

from artificer.cli.commands.journal import FsckOptions
from artificer.cli.configuration import configuration
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.cli.terminal.working import working
from artificer.maintenance import Maintenance
from artificer.runtime.keeping import StorageCheck


async def fsck(settings: Settings, options: FsckOptions) -> Exit:
    """Print problems and unreferenced files; return 1 if there are problems."""
    if options.repair:
        async with opened_world(settings) as world:
            with working(settings) as report:
                check = await world.maintenance.fsck(repair=True, progress=report)
    else:
        async with Maintenance.open_to_read(configuration(settings)) as maintenance:
            with working(settings) as report:
                check = await maintenance.fsck(progress=report)
    if options.as_json:
        verification = check.verification.facts()
        out_json({"sound": check.sound, **vars(check), "verification": verification})
    else:
        _print(check)
    return Exit.OK if check.sound else Exit.WRONG


def _print(check: StorageCheck) -> None:
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
