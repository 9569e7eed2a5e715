"""Positions of the labels in a scatter chart, chosen so that none hides another."""

from __future__ import annotations

from dataclasses import dataclass

from artificer.render.charts.measure import width

CORNERS = {
    "right_above": (8, -8),
    "right_below": (8, 9),
    "left_above": (-8, -8),
    "left_below": (-8, 9),
}
"""The four positions around a point, with their offsets in pixels."""

_LINE = 13
"""Height of a label in pixels."""


@dataclass(frozen=True)
class Spot:
    """A point in the drawing, in pixels from the upper left, with its label."""

    x: float
    y: float
    label: str


LabelBox = tuple[float, float, float, float]


def corners(spots: list[Spot], room: float) -> list[str]:
    """Return a key of CORNERS for each spot, or "" if its label would hide another.

    Greedy, in the order of the spots. A label stays inside ``room`` and off all points.
    """
    taken: list[LabelBox] = [(spot.x - 5, spot.y - 5, spot.x + 5, spot.y + 5) for spot in spots]
    chosen = []
    for spot in spots:
        free = (c for c in CORNERS if spot.label and _fits(_box(spot, c), taken, room))
        corner = next(free, "")
        if corner:
            taken.append(_box(spot, corner))
        chosen.append(corner)
    return chosen


def _box(spot: Spot, corner: str) -> LabelBox:
    dx, dy = CORNERS[corner]
    length = width(spot.label)
    left = spot.x + dx - (length if dx < 0 else 0)
    return left, spot.y + dy - _LINE / 2, left + length, spot.y + dy + _LINE / 2


def _fits(box: LabelBox, taken: list[LabelBox], room: float) -> bool:
    inside = box[0] >= 0 and box[2] <= room
    return inside and not any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
        for other in taken
    )
