"""How the cost of a turn grows with the conversation: one run of 1,000 turns.

    python bench/growth.py [--turns 1000] [--window 50]

The last turns are compared with the tenth and those after it, in instructions, which callgrind
counts exactly, and by the wall, in a second run without callgrind.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator

from measure import Row, Spent, begin_count, end_count, in_child, instructions, main
from turns import turns_at

EARLY = 10


async def counted(turns: int, window: int) -> None:
    """A run that counts its early turns, and its late ones."""

    def reached(number: int) -> None:
        if number in (EARLY, turns - window):
            begin_count()
        elif number in (EARLY + window, turns):
            end_count()

    await turns_at("process", turns, reached)


async def clocked(turns: int) -> list[Spent]:
    """The moments of a run's requests."""
    marks: list[Spent] = []
    await turns_at("process", turns, lambda _: marks.append(Spent.now()))
    return marks


def rows(turns: int = 1_000, window: int = 50) -> Iterator[Row]:
    name = f"turn {turns:,} / turn {EARLY}"
    counts = instructions(counted, turns, window)
    if counts:
        early, late = (count / window / 1e6 for count in counts)
        yield Row(name, "M instructions", late, early, "≤ 1.05")
    marks = [Spent(*each) for each in in_child(clocked, turns)]
    steps = [late.since(early) for early, late in itertools.pairwise(marks)]
    for clock in ("wall", "cpu"):
        taken = [getattr(step, clock) * 1000 for step in steps]
        early, late = (
            statistics.median(part) for part in (taken[EARLY : EARLY + window], taken[-window:])
        )
        yield Row(name, f"ms {'CPU' if clock == 'cpu' else clock}", late, early)


if __name__ == "__main__":
    main(rows)
