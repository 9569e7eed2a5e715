"""Showing a model's reasoning as it forms: dim, a few lines of it, on a terminal only."""

from __future__ import annotations

import shutil
import sys
from typing import Literal

from artificer.cli.terminal.console import has_colour, note
from artificer.cli.terminal.words import count

ReasoningMode = Literal["on", "off", "all"]

MODES: tuple[ReasoningMode, ...] = ("on", "off", "all")
"""A few lines, nothing, or everything."""

LINES = 4
"""Lines of one reply's reasoning that are shown."""

_MARGIN = "  "


class ReasoningPrinter:
    """Writes the reasoning of one reply after another to stderr, line by line.

    At most one line is kept; of what is not shown only the length is counted.
    """

    def __init__(self) -> None:
        self.mode: ReasoningMode = "on" if has_colour(sys.stderr) else "off"
        """Whether reasoning is shown. Where stderr is not a terminal with colours it is not."""
        self._line = ""
        self._shown = 0
        self._hidden = 0

    def write(self, text: str) -> None:
        """Take a piece."""
        if self.mode == "off":
            return
        room = max(20, min(shutil.get_terminal_size().columns, 120) - len(_MARGIN))
        first, *others = text.splitlines() or [text]
        for number, part in enumerate((first, *others)):
            if number:
                self._end_line()
            self._add(part, room)
        if text.endswith(("\n", "\r")):
            self._end_line()

    def end(self) -> None:
        """Finish the reasoning of a reply: say how much of it is not shown."""
        self._end_line()
        if self._hidden:
            hint = "/reasoning all shows it"
            note(f"{_MARGIN}… {count(self._hidden, 'more character')} of reasoning; {hint}", "dim")
        self._shown = self._hidden = 0

    def _add(self, text: str, room: int) -> None:
        if self._is_full():
            self._hidden += len(text)
            return
        self._line += text
        while len(self._line) > room:
            cut = self._line.rfind(" ", 1, room + 1)
            cut = room if cut < 1 else cut
            rest = self._line[cut:].lstrip(" ")
            self._line = self._line[:cut]
            self._end_line()
            if self._is_full():
                self._hidden += len(rest)
                return
            self._line = rest

    def _end_line(self) -> None:
        if self._line.strip():
            note(f"{_MARGIN}{self._line.strip()}", "dim")
            self._shown += 1
        self._line = ""

    def _is_full(self) -> bool:
        return self.mode != "all" and self._shown >= LINES
