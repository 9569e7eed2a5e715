"""``artificer open``: open a run's report in the browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

from artificer.cli.commands.inspect import OpenOptions
from artificer.cli.execution.views import views_folder
from artificer.cli.interruptible import run_async
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit


def open_report(settings: Settings, options: OpenOptions) -> Exit:
    """Print the path of the report and open it."""
    page = run_async(_page(settings, options))
    out(str(page))
    if not options.only_print and not (_has_display() and webbrowser.open(page.as_uri())):
        note("It was not opened: no display is available.")
    return Exit.OK


async def _page(settings: Settings, options: OpenOptions) -> Path:
    """Return the path of the report; it is written if it does not exist."""
    async with opened_archive(settings) as archive:
        run_id = await archive.find(options.run)
        page = views_folder(archive.config, run_id) / "report.html"
        if page.exists():
            return page
        return (await archive.get(run_id)).save(page.parent).html


def _has_display() -> bool:
    """Without a display, webbrowser would start a text browser in the terminal, or do nothing."""
    if sys.platform == "darwin":
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
