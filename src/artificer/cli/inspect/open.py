"""``artificer open``: a run's report in the browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

import click

from artificer.archive import Archive
from artificer.cli.common.drive import in_archive
from artificer.cli.common.outcome import views_folder
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit


@click.command(name="open")
@click.argument("run")
@click.option("--print", "only_print", is_flag=True, help="Print the path and open nothing.")
@pass_settings
def command(settings: Settings, run: str, only_print: bool) -> int:
    """Open RUN's report in the browser, making the page first when it is not there.

    Where there is no display, the path is printed.

    \b
    Example:
      artificer open last
    """

    async def work(world: Archive) -> Path:
        run_id = await world.find(run)
        page = views_folder(world, run_id) / "report.html"
        if page.exists():
            return page
        return (await world.get(run_id)).run.save(page.parent).html

    page = in_archive(settings, work)
    out(str(page))
    if not only_print and not (_has_display() and webbrowser.open(page.as_uri())):
        note("There is no display here to open it on.")
    return Exit.OK


def _has_display() -> bool:
    """Without one, webbrowser would take over the terminal with a text browser, or do nothing."""
    if sys.platform == "darwin":
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
