"""Checklists as they stand: the payload of the model with what people have ticked off.

A tick belongs to an item by its id. In a replacement of the checklist that no longer has the id,
it belongs to the item of the same text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from msgspec import Struct

from artificer.artifacts.checklist import Checklist
from artificer.artifacts.ref import ArtifactRef
from artificer.artifacts.ticks import ItemTick, revision_of
from artificer.values.base import Digest, JsonObject


class ItemState(Struct, frozen=True):
    """An item as it stands. ``by`` and ``at`` are of its last tick; ``revision`` is 0 before it."""

    id: str
    label: str
    checked: bool
    by: str = ""
    at: int = 0
    revision: int = 0


class TickedChecklist(Struct, frozen=True):
    """A checklist as it stands. ``version`` is the digest of what the model made.

    ``revision`` counts the changes that people made. ``removed`` are ticked items that are no
    longer in the checklist, because the model replaced it.
    """

    id: str
    title: str
    version: Digest
    revision: int
    items: tuple[ItemState, ...]
    removed: tuple[ItemTick, ...] = ()

    @property
    def done(self) -> int:
        """The number of items that are done."""
        return sum(item.checked for item in self.items)

    def item(self, name: str) -> ItemState | None:
        """Return the item of an id."""
        return next((item for item in self.items if item.id == name), None)


def ticked(version: Digest, payload: JsonObject, ticks: Iterable[ItemTick]) -> TickedChecklist:
    """Return a checklist with what people have ticked. ``payload`` are the arguments of its call.

    Raises:
        InvalidValueError: they are not those of a checklist.
    """
    made = Checklist.from_json(payload.get("checklist"))
    own = [tick for tick in ticks if tick.checklist == made.id]
    return TickedChecklist(
        made.id,
        made.title,
        version,
        revision_of(own, made.id),
        _items(made, own),
        _removed(made, own),
    )


def read_payload(ref: ArtifactRef, stored: bytes, ticks: Iterable[ItemTick]) -> JsonObject:
    """Read the stored JSON of an artifact; a checklist as it stands. Raises InvalidValueError."""
    payload: JsonObject = json.loads(stored)
    return with_ticks(payload, ticks) if ref.kind == "checklist" else payload


def with_ticks(payload: JsonObject, ticks: Iterable[ItemTick]) -> JsonObject:
    """Return the arguments of a call with the flags that people have changed.

    Raises:
        InvalidValueError: they are not those of a checklist.
    """
    made = Checklist.from_json(payload.get("checklist"))
    own = [tick for tick in ticks if tick.checklist == made.id]
    if not own:
        return payload
    states = _items(made, own)
    items = [
        item.replace(checked=state.checked) for item, state in zip(made.items, states, strict=True)
    ]
    changed: JsonObject = json.loads(made.replace(items=tuple(items)).canonical())
    return {**payload, "checklist": changed}


def _items(made: Checklist, own: list[ItemTick]) -> tuple[ItemState, ...]:
    ids = {item.id for item in made.items}
    by_id = {tick.item: tick for tick in own}
    by_label = {tick.label: tick for tick in own if tick.item not in ids}
    found = list[ItemState]()
    for item in made.items:
        tick = by_id.get(item.id) or by_label.get(item.label)
        if tick is None:
            found.append(ItemState(item.id, item.label, item.checked))
            continue
        state = ItemState(item.id, item.label, tick.checked, tick.by, tick.at, tick.revision)
        found.append(state)
    return tuple(found)


def _removed(made: Checklist, own: list[ItemTick]) -> tuple[ItemTick, ...]:
    ids = {item.id for item in made.items}
    labels = {item.label for item in made.items}
    gone = (tick for tick in own if tick.item not in ids and tick.label not in labels)
    return tuple(tick for tick in gone if tick.checked)
