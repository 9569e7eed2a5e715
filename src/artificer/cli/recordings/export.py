"""``artificer export``: a run as one file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from artificer.archive import Archive
from artificer.cli.common.drive import in_archive
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit

SUFFIX = ".run.gz"


@click.command(name="export")
@click.argument("run")
@click.option("-o", "--output", metavar="FILE", help="Where to; `-` is stdout. Default: RUN.run.gz")
@pass_settings
def command(settings: Settings, run: str, output: str | None) -> int:
    """Write RUN with everything it refers to into one file, and print its path.

    The file is gzip over JSON lines, the same bytes every time. It holds prompts, replies and
    results as they are: read it before you give it away.

    \b
    Example:
      artificer export last -o bug.run.gz
      artificer import bug.run.gz
    """

    async def work(world: Archive) -> tuple[str, bytes]:
        run_id = await world.find(run)
        return run_id, await world.export_run(run_id)

    run_id, data = in_archive(settings, work)
    if output == "-":
        sys.stdout.buffer.write(data)
        return Exit.OK
    path = Path(output or f"{Path(run_id).name}{SUFFIX}")
    path.write_bytes(data)
    out(str(path))
    note(f"{len(data):,} bytes")
    return Exit.OK
