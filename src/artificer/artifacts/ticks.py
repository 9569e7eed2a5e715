"""Ticks of people in checklists. The payload of the model stays as it was made."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.values.base import Text, Value

MAX_TICKS = 512
"""Ticks that are kept: as many as a run can have items. The oldest gives way."""


class ItemTick(Value):
    """The last word of a person about an item of a checklist.

    ``revision`` counts the changes of the checklist up to this one. ``note`` is what the model has
    still to read about it.
    """

    checklist: Text
    item: Text
    label: Text
    checked: bool
    by: Text = ""
    at: int
    revision: int
    note: Text = ""


def revision_of(ticks: Iterable[ItemTick], checklist: str) -> int:
    """Return how many changes a checklist has had."""
    return max((tick.revision for tick in ticks if tick.checklist == checklist), default=0)


def with_tick(ticks: tuple[ItemTick, ...], tick: ItemTick) -> tuple[ItemTick, ...]:
    """Return the ticks with one more, which replaces the one of the same item.

    A change that is taken back before the model has read of it needs no note.
    """
    key = (tick.checklist, tick.item)
    if any((old.checklist, old.item) == key and old.note for old in ticks):
        tick = tick.replace(note="")
    kept = tuple(old for old in ticks if (old.checklist, old.item) != key)
    return (*kept[-(MAX_TICKS - 1) :], tick)
