"""A run whose checklists people tick off: while it works, when it is over, and replaced."""

from __future__ import annotations

from artificer.core.signals import FollowUp, Signal, Tick
from artificer.core.state import RunState
from artificer.ports import Call
from artificer.providers.scripted import ScriptedReply, call, reply, say
from artificer.runtime.engine import Engine
from artificer.runtime.load import load
from artificer.runtime.ticks import record_ticks
from artificer.testing.rig import Rig, as_provider
from artificer.values.base import JsonObject

TEXT = "# Release\n\nWhat is to be done, in order.\n\n{{artifact:checklist:todo}}\n"


def checklist(*items: tuple[str, str], replace: bool = False, name: str = "todo") -> ScriptedReply:
    """A reply that makes a checklist of pairs of an id and a text."""
    made: JsonObject = {
        "kind": "checklist",
        "id": name,
        "title": "Release",
        "items": [{"id": item, "label": label} for item, label in items],
    }
    return reply(call("create_checklist", checklist=made, **({"replace": True} if replace else {})))


async def tick(
    run: Rig,
    item: str,
    *,
    checked: bool = True,
    by: str = "Ada",
    engine: Engine | None = None,
    **seen: int,
) -> None:
    """Post a tick of the checklist as it stands; ``engine`` executes the run."""
    state = (await load(run.journal, run.blobs, "run")).state
    signals = run.signals if engine is None else engine.signals
    await signals.post("run", tick_of(state, item, checked=checked, by=by, **seen).canonical())


def tick_of(
    state: RunState,
    item: str,
    *,
    checked: bool = True,
    by: str = "Ada",
    revision: int | None = None,
    version: str | None = None,
) -> Signal:
    """Return a tick of the checklist as it stands, or as somebody saw it before."""
    (ref,) = [ref for ref in state.artifacts if ref.kind == "checklist"]
    seen = max((tick.revision for tick in state.ticks), default=0)
    return Tick(
        by=by,
        checklist=ref.id,
        version=version or ref.payload,
        item=item,
        checked=checked,
        revision=seen if revision is None else revision,
    )


async def ticked(run: Rig) -> None:
    """Ticks that count, that came too late, that change nothing, and their way to the model."""

    async def midway(_: Call) -> str:
        await tick(run, "tag", by="Grace é 😀", engine=working)
        return "done"

    run.tools.add("midway", midway)
    items = [("tag", "Tag the commit"), ("tests", 'Run "all" tests'), ("say", "Say it")]
    working = run.engine(as_provider([checklist(*items), reply(call("midway")), say(TEXT)]))
    await working.start("run", run.spec(kind="deliver"))
    engine = run.engine(as_provider([]))
    await tick(run, "tests")
    await record_ticks(engine, "run")
    for item, checked, revision in (("say", True, 0), ("tests", True, 0), ("tests", False, 0)):
        await tick(run, item, checked=checked, revision=revision)
    await tick(run, "nothing")
    await record_ticks(engine, "run")
    await tick(run, "say", checked=False)
    await run.signals.post("run", FollowUp(by="Ada", text="One item fewer.").canonical())
    await tick(run, "tag", checked=False)
    new = [("tag", "Tag it"), ("all", 'Run "all" tests'), ("new", "Open the bottle")]
    await run.resume([checklist(*new, replace=True), say(TEXT)])
    await tick(run, "new", by="")
    await record_ticks(engine, "run")
