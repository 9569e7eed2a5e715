"""``artificer tick``: tick off an item of a checklist."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import to_builtins

from artificer.artifacts.ticked import TickedChecklist
from artificer.cli.commands.signals import TickOptions
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.console import note, one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.errors import NotFoundError

LABEL = 320


async def tick(settings: Settings, options: TickOptions) -> Exit:
    """Tick off an item, or show the checklists."""
    async with opened_run(settings, options.run) as (world, run_id):
        if not options.item:
            found = await world.checklists.read(run_id)
            _show([each for each in found if options.list in ("", each.id)], options)
            return Exit.OK
        ticked = await world.checklists.tick(
            run_id, options.list, options.item, checked=not options.undo, by=user_name()
        )
        if not ticked.recorded:
            note(f"kept; recorded as soon as the run goes on: artificer resume {run_id}")
        _show([ticked.checklist], options)
        return Exit.OK


def _show(found: Iterable[TickedChecklist], options: TickOptions) -> None:
    """Print checklists. Raises NotFoundError for none."""
    found = list(found)
    if options.as_json:
        out_json([to_builtins(each) for each in found])
        return
    if not found:
        raise NotFoundError(
            "There is no such checklist.", hint="`artificer show RUN` says what it made."
        )
    for checklist in found:
        done = f"{checklist.done} of {len(checklist.items)} done"
        out(one_line(f"{checklist.id}: {checklist.title or 'checklist'} ({done})", LABEL))
        for item in checklist.items:
            by = f" ({item.by})" if item.by and item.checked else ""
            box = "x" if item.checked else " "
            out("  " + one_line(f"[{box}] {item.id}: {item.label}{by}", 2 * LABEL))
