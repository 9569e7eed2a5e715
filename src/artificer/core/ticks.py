"""The ticks of people in checklists: whether one counts, and the event that it becomes.

A tick says what the person saw: the version of the checklist, and how many changes it had had. One
of an item that nobody has changed since counts, whatever happened to the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from artificer.core import events as ev
from artificer.core.signals import Tick
from artificer.core.state import RunState
from artificer.core.transitions import TABLE
from artificer.values.canon import canonical
from artificer.values.text import clip

if TYPE_CHECKING:
    from artificer.artifacts.ticked import ItemState, TickedChecklist

LONGEST_NAME = 64
"""Characters of a person's name that the model reads."""

MAX_TICK_SIGNALS = 8_000
"""A run takes ticks up to this signal, so that it can always be cancelled."""


class Objection(NamedTuple):
    """Why a tick does not count. ``same`` means that the item is as it is to be already."""

    code: Literal["missing", "same", "conflict", "too_many", "phase"]
    reason: str


def objection(state: RunState, tick: Tick, checklist: TickedChecklist | None) -> Objection | None:
    """Return why a tick does not count, or None. ``checklist`` is the named one, as it stands."""
    if checklist is None:
        return Objection("missing", f"The run has no checklist {clip(tick.checklist, 64)!r}.")
    if tick.version != checklist.version:
        return Objection("conflict", "The model has replaced the checklist since.")
    item = checklist.item(tick.item)
    if item is None:
        return Objection("missing", f"The checklist has no item {clip(tick.item, 64)!r}.")
    return _unchanged(tick, item) or _untakeable(state)


def _unchanged(tick: Tick, item: ItemState) -> Objection | None:
    if item.checked == tick.checked:
        word = "ticked off" if tick.checked else "open"
        return Objection("same", f"The item is {word} already.")
    if item.revision > tick.revision:
        return Objection("conflict", f"{item.by or 'Somebody'} has changed this item since.")
    return None


def _untakeable(state: RunState) -> Objection | None:
    if state.letters >= MAX_TICK_SIGNALS:
        return Objection("too_many", f"A run takes ticks up to its {MAX_TICK_SIGNALS:,}th signal.")
    if (state.phase, ev.ChecklistTicked) not in TABLE:
        return Objection("phase", f"The run is {state.phase.value}.")
    return None


def tick_event(
    state: RunState, number: int, tick: Tick, at: int, checklist: TickedChecklist | None
) -> ev.Event:
    """Return the event of a tick. One that does not count is a ReceiptIgnored."""
    against = objection(state, tick, checklist)
    item = checklist.item(tick.item) if checklist is not None else None
    if against is not None or item is None:
        reason = against.reason if against is not None else ""
        return ev.ReceiptIgnored(at=at, letter=number, what=tick.type, reason=reason)
    return ev.ChecklistTicked(
        at=at,
        letter=number,
        by=tick.by,
        checklist=tick.checklist,
        version=tick.version,
        item=tick.item,
        label=item.label,
        checked=tick.checked,
        revision=tick.revision,
        content=_content(tick, item.label),
    )


def _content(tick: Tick, label: str) -> str:
    who = clip(" ".join(tick.by.split()), LONGEST_NAME) or "A reader"
    did = "has ticked off" if tick.checked else "has taken back the tick of"
    words = canonical(" ".join(label.split())).decode()
    return f"In the checklist {tick.checklist}, {who} {did} the item {tick.item}: {words}"
