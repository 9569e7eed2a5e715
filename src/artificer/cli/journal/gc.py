"""``artificer gc``: blobs that nothing refers to."""

from __future__ import annotations

from dataclasses import asdict

import click

from artificer.archive import Archive
from artificer.cli.common.drive import in_archive, in_world
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count


@click.command(name="gc")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0),
    default=60,
    show_default=True,
    metavar="MINUTES",
    help="Leave what was stored since: a run may be about to refer to it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@pass_settings
def command(settings: Settings, dry_run: bool, older_than: float, as_json: bool) -> int:
    """Remove the blobs that no record refers to, directly or through another blob.

    Runs may go on meanwhile. When anything cannot be read, nothing is removed.

    \b
    Example:
      artificer gc --dry-run
    """

    async def work(world: Archive) -> Exit:
        sweep = await world.gc(older_than_s=60 * older_than, dry_run=dry_run)
        if as_json:
            out_json({"dry_run": dry_run, **asdict(sweep)})
        else:
            word = "would remove" if dry_run else "removed"
            gone = count(sweep.files + sweep.small, "blob")
            note(f"{word} {gone}, {sweep.bytes:,} bytes; {count(sweep.kept, 'blob')} in use")
        return Exit.OK

    return in_archive(settings, work) if dry_run else in_world(settings, work)
