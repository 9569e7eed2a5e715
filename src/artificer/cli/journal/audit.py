"""``artificer audit``: print every decision and effect of all runs."""

from __future__ import annotations

from artificer.archive import trail
from artificer.cli.commands.journal import AuditOptions
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import out_styled
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import milliseconds
from artificer.runtime.proving.trail import line_of


async def audit(settings: Settings, options: AuditOptions) -> Exit:
    """Print JSON lines as they are read. Raises TamperedError."""
    async with opened_archive(settings) as archive:
        async for entry in trail(archive, milliseconds(options.since) or 0):
            out_styled(line_of(entry).rstrip("\n"))
    return Exit.OK
