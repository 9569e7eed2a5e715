"""``artificer export``: write a run into one file."""

from __future__ import annotations

import sys
from pathlib import Path

from artificer.cli.commands.recordings import ExportOptions
from artificer.cli.interruptible import interruptible
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit

SUFFIX = ".run.gz"


def export(settings: Settings, options: ExportOptions) -> Exit:
    """Write the file and print its path."""
    run_id, data = _pack(settings, options)
    if options.output == "-":
        sys.stdout.buffer.write(data)
        return Exit.OK
    path = Path(options.output or f"{Path(run_id).name}{SUFFIX}")
    path.write_bytes(data)
    out(str(path))
    note(f"{len(data):,} bytes")
    return Exit.OK


@interruptible
async def _pack(settings: Settings, options: ExportOptions) -> tuple[str, bytes]:
    """Return the id of the run and the bytes of its file."""
    async with opened_archive(settings) as archive:
        run_id = await archive.find(options.run)
        return run_id, await archive.export_run(run_id)
