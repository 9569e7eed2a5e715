"""The screen for progress: lines on stderr, and on a terminal a last line that keeps changing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from artificer.cli.terminal.console import clean, has_colour, note, one_line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live


class Screen:
    """Plain lines: for pipes, files and logs. Text in progress is not shown."""

    def line(self, text: str, style: str | None = None) -> None:
        """Write a line that stays."""
        note(text, style)

    def forming(self, label: str, text: str) -> None:
        """Show the current activity."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let other code write to the terminal."""
        yield

    def close(self) -> None:
        """Restore the terminal. May be called more than once."""


class LiveScreen(Screen):
    """A terminal: lines that stay, and below them one that keeps changing."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True, highlight=False)
        self._activity = _Activity()
        self._live: Live = Live(
            self._activity, console=console, transient=True, refresh_per_second=10
        )
        self._live.start()

    def line(self, text: str, style: str | None = None) -> None:
        """Write a line above the live one."""
        from rich.text import Text

        self._live.console.print(Text(clean(text), style=_RICH_STYLES.get(style or "", "")))

    def forming(self, label: str, text: str) -> None:
        """Replace the live line: the label, its age, and the end of the text."""
        self._activity.update(label, text)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Remove the live line while other code writes."""
        self._live.stop()
        try:
            yield
        finally:
            self._live.start()

    def close(self) -> None:
        """Remove the live line and show the cursor again."""
        self._live.stop()


class _Activity:
    """The current activity, drawn ten times a second so that its clock advances."""

    def __init__(self) -> None:
        from rich.spinner import Spinner

        self._spinner = Spinner("dots")
        self._label = self._text = ""
        self._since = time.monotonic()

    def update(self, label: str, text: str) -> None:
        if label != self._label:
            self._since = time.monotonic()
        self._label, self._text = label, text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        head = f"{self._label}  {time.monotonic() - self._since:.0f} s"
        room = max(10, options.max_width - len(head) - 6)
        line = f"{head}  {one_line(self._text[-room:], room)}"
        self._spinner.update(text=Text(line, no_wrap=True, overflow="ellipsis", style="dim"))
        yield self._spinner


_RICH_STYLES = {"good": "green", "bad": "red", "dim": "dim", "strong": "bold", "hint": "cyan"}


def new_screen(*, verbose: bool) -> Screen:
    """Return a live screen on a terminal with colours, unless logs are written to it too."""
    return LiveScreen() if has_colour(sys.stderr) and not verbose else Screen()
