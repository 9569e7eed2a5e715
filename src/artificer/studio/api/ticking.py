"""The current checklists, and people's ticks in them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from artificer.artifacts.ticked import TickedChecklist
from artificer.studio.api.declared import ApiRequest, DigestText, ShortName
from artificer.wiring.checklists import Ticked


class ChecklistList(Struct, frozen=True):
    """The current checklists of a run."""

    checklists: tuple[TickedChecklist, ...]


class TickBody(Struct, frozen=True, forbid_unknown_fields=True):
    """An item of a checklist, and whether it is done.

    ``version`` and ``revision`` are those of the checklist as the person saw it: a change that
    someone else made meanwhile is a conflict. Without a version, the checklist counts as it is.
    """

    checklist: ShortName
    item: ShortName
    checked: bool = True
    version: DigestText | None = None
    revision: Annotated[int, Meta(ge=0, le=2**53)] = 0


async def list_checklists(request: ApiRequest) -> ChecklistList:
    """List the current checklists of a run."""
    return ChecklistList(await request.world.checklists.read(request.named("run")))


async def tick_item(request: ApiRequest) -> Ticked:
    """Tick off an item of a checklist, or take the tick back."""
    body: TickBody = request.body
    seen = body.version and TickedChecklist(body.checklist, "", body.version, body.revision, ())
    return await request.world.checklists.tick(
        request.named("run"),
        body.checklist,
        body.item,
        checked=body.checked,
        by=request.actor.name,
        seen=seen or None,
    )
