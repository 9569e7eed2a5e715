"""Counts of trials that are added up."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self


@dataclass
class Tally:
    """Counts, and lists of what was counted, of so many trials."""

    trials: int = 0

    def add(self, other: Self) -> None:
        """Add those of other trials."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
