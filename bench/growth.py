"""How the cost of a turn grows with the conversation: one run of 1,000 turns.

    python bench/growth.py [--turns 1000] [--window 50] [--rounds 3]

The last turns are compared with the tenth and those after it, in instructions, which callgrind
counts exactly, and by two clocks, in runs without callgrind.
"""

from __future__ import annotations

from collections.abc import Iterator

from measure import Figures, Row, Spent, begin_count, end_count, in_child, instructions, main, row
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


async def clocked(turns: int, window: int) -> list[list[float]]:
    """Measure an early turn and a late one, by both clocks."""
    borders = (EARLY, EARLY + window, turns - window, turns)
    marks: list[Spent] = []

    def reached(number: int) -> None:
        if number in borders:
            marks.append(Spent.now())

    await turns_at("process", turns, reached)
    return [list(marks[n + 1].since(marks[n]).each(window)) for n in (0, 2)]


def rows(turns: int = 1_000, window: int = 50, rounds: int = 3) -> Iterator[Row]:
    name = f"turn {turns:,} / turn {EARLY}"
    counts = instructions(counted, turns, window)
    if counts:
        early, late = (count / window / 1e6 for count in counts)
        yield Row(name, "M instructions", late, early, "≤ 1.05")
    figures: Figures = {"early": [], "late": []}
    for _ in range(rounds):
        for part, spent in zip(figures.values(), in_child(clocked, turns, window), strict=True):
            part.append(Spent(*spent))
    yield row(name, figures, "late", "early")
    yield row(name, figures, "late", "early", clock="cpu")


if __name__ == "__main__":
    main(rows)
