"""Whose prompt a program shows: its own, or that of a child session that it has opened."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from artificer.backends.session.spec.line import matches


class Seat(Enum):
    """Who reads the next line."""

    OWN = "the program"
    CHILD = "its child session"


@dataclass
class Prompts:
    """The prompts of a program, and who was at the last one.

    ``own`` and ``child`` are their patterns, ``opens`` that of the output that announces a child:
    before it was seen, nothing is a child's prompt. An empty ``own`` is a program that shows none.
    """

    own: str
    child: str | None = None
    opens: str | None = None
    seat: Seat = Seat.OWN
    is_announced: bool = False

    def restart(self) -> None:
        """The program was started: nothing is open."""
        self.seat, self.is_announced = Seat.OWN, False

    def read(self, text: str) -> None:
        """Look for the announcement of a child in what the program has written."""
        if self.opens is not None and not self.is_announced:
            self.is_announced = matches(self.opens, text)

    def take(self, last: str) -> bool:
        """Whether an unfinished line is a prompt. If so, it says whose turn it is."""
        if self.child is not None and self.is_announced and matches(self.child, last):
            self.seat = Seat.CHILD
            return True
        if not self.own or matches(self.own, last):
            self.seat = Seat.OWN
            return True
        return False

    def is_prompt(self, last: str) -> bool:
        """Whether an unfinished line is a prompt, whosever."""
        patterns = (self.own, self.child if self.is_announced else None)
        return any(pattern and matches(pattern, last) for pattern in patterns)
