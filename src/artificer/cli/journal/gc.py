"""``artificer gc``: remove blobs that nothing refers to."""

from __future__ import annotations

from dataclasses import asdict

from artificer.cli.commands.journal import GcOptions
from artificer.cli.configuration import configuration
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.cli.terminal.working import working
from artificer.maintenance import Maintenance


async def gc(settings: Settings, options: GcOptions) -> Exit:
    """Remove the blobs, or print how many would be removed."""
    seconds = 60 * options.older_than
    if options.dry_run:
        async with Maintenance.open_to_read(configuration(settings)) as maintenance:
            with working(settings) as report:
                found = await maintenance.gc(older_than_s=seconds, dry_run=True, progress=report)
    else:
        async with opened_world(settings) as world:
            with working(settings) as report:
                found = await world.maintenance.gc(older_than_s=seconds, progress=report)
    if options.as_json:
        out_json({"dry_run": options.dry_run, **asdict(found)})
        return Exit.OK
    word = "would remove" if options.dry_run else "removed"
    blobs = count(found.files + found.small, "blob")
    note(f"{word} {blobs}, {found.bytes:,} bytes; {count(found.kept, 'blob')} in use")
    return Exit.OK
