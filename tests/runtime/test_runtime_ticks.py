"""People tick off items of checklists: every change is an event, and begins nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from artificer.artifacts.ticks import MAX_TICKS, ItemTick, with_tick
from artificer.core import events as ev
from artificer.core.state import RunPhase, RunState
from artificer.core.ticks import objection, tick_event
from artificer.ports import Call
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.load import load
from artificer.runtime.ticks import checklist as checklist_of
from artificer.runtime.ticks import record_ticks
from artificer.testing.rig import Rig, as_provider
from artificer.values.model import ModelFailure

sys.path.insert(0, str(Path(__file__).parents[1] / "journals"))

from ticked_runs import TEXT, checklist, tick, tick_of

ITEMS = [("a", "Alpha"), ("b", "Beta"), ("c", "Gamma")]


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def state_of(rig: Rig) -> RunState:
    return (await load(rig.journal, rig.blobs, "run")).state


async def made(rig: Rig) -> RunState:
    return await rig.run([checklist(*ITEMS), say(TEXT)], kind="deliver")


async def record(rig: Rig) -> RunState:
    return await record_ticks(rig.engine(as_provider([])), "run")


def ticks_of(rig: Rig, state: RunState) -> dict[str, tuple[bool, str]]:
    found = checklist_of(state, rig.blobs, "todo")
    assert found is not None
    return {item.id: (item.checked, item.by) for item in found.items}


def reasons(events: list[ev.Event]) -> list[str]:
    return [event.reason for event in events if isinstance(event, ev.ReceiptIgnored)]


@pytest.mark.req("ticks-recorded")
class TestTicks:
    async def test_a_run_that_is_over_takes_them_and_stays_over(self, rig: Rig) -> None:
        before = await made(rig)
        await tick(rig, "a")
        await tick(rig, "c", by="Grace")
        after = await record(rig)
        assert (after.phase, after.status, after.turn) == (RunPhase.FINISHED, "completed", 2)
        assert after.deliverable == before.deliverable
        assert ticks_of(rig, after) == {"a": (True, "Ada"), "b": (False, ""), "c": (True, "Grace")}
        recorded = [e for e in await rig.events() if isinstance(e, ev.ChecklistTicked)]
        assert [(e.item, e.by, e.checked) for e in recorded] == [
            ("a", "Ada", True),
            ("c", "Grace", True),
        ]
        assert (await rig.replay()).identical

    async def test_a_run_without_ticks_is_not_written_to(self, rig: Rig) -> None:
        await made(rig)
        before = len(await rig.journal.read("run"))
        await record(rig)
        assert len(await rig.journal.read("run")) == before

    async def test_of_one_item_only_who_saw_the_last_change_counts(self, rig: Rig) -> None:
        state = await made(rig)
        for signal in (
            tick_of(state, "a", revision=0),
            tick_of(state, "b", revision=0, by="Grace"),  # another item: both count
            tick_of(state, "a", checked=False, revision=1),
            tick_of(state, "a", revision=1, by="Grace"),  # Ada has changed it since
            tick_of(state, "a", checked=False, revision=0, by="Grace"),  # it is so already
        ):
            await rig.signals.post("run", signal.canonical())
        after = await record(rig)
        assert ticks_of(rig, after) == {"a": (False, "Ada"), "b": (True, "Grace"), "c": (False, "")}
        assert reasons(await rig.events()) == [
            "Ada has changed this item since.",
            "The item is open already.",
        ]

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"item": "x"}, "The checklist has no item 'x'."),
            ({"version": f"sha256:{1:064}"}, "The model has replaced the checklist since."),
        ],
    )
    async def test_what_is_not_there_cannot_be_ticked(
        self, rig: Rig, change: dict[str, str], reason: str
    ) -> None:
        state = await made(rig)
        signal = tick_of(state, **{"item": "a", **change})
        await rig.signals.post("run", signal.canonical())
        after = await record(rig)
        assert after.ticks == () and reasons(await rig.events()) == [reason]

    async def test_an_unknown_checklist_is_ignored(self, rig: Rig) -> None:
        state = await made(rig)
        signal = tick_of(state, "a").replace(checklist="other")
        await rig.signals.post("run", signal.canonical())
        await record(rig)
        assert reasons(await rig.events()) == ["The run has no checklist 'other'."]

    async def test_the_process_that_executes_the_run_takes_them(self, rig: Rig) -> None:
        async def midway(_: Call) -> str:
            await tick(rig, "b", engine=engine)
            assert (await record(rig)).letters == 0
            return "done"

        rig.tools.add("midway", midway)
        turns = [checklist(*ITEMS), reply(call("midway")), say(TEXT)]
        engine = rig.engine(as_provider(turns))
        state = await engine.start("run", rig.spec(kind="deliver"))
        assert state.status == "completed" and ticks_of(rig, state)["b"] == (True, "Ada")

    async def test_they_cost_no_turn_and_reach_the_next_one(self, rig: Rig) -> None:
        await made(rig)
        await tick(rig, "a")
        await tick(rig, "b")
        await record(rig)
        await tick(rig, "b", checked=False)  # the model never read of it
        await record(rig)
        await rig.signals.post("run", b'{"type":"follow_up","text":"What is left?"}')
        model = ScriptedProvider([say("Two of them.")])
        state = await rig.resume(model)
        texts = [message.text for message in state.history if message.role == "user"]
        assert texts[-2:] == [
            "What is left?",
            'In the checklist todo, Ada has ticked off the item a: "Alpha"',
        ]
        assert all(tick.note == "" for tick in state.ticks)
        assert (await rig.replay()).identical

    async def test_a_follow_up_that_waits_goes_first(self, rig: Rig) -> None:
        await made(rig)
        await rig.signals.post("run", b'{"type":"follow_up","text":"More."}')
        await tick(rig, "a")
        assert (await record(rig)).letters == 0
        state = await rig.resume([say("No more.")])
        assert ticks_of(rig, state)["a"] == (True, "Ada")

    async def test_a_stalled_run_takes_them_and_stays_stalled(self, rig: Rig) -> None:
        gone = ModelFailure(code="unavailable", message="")
        await rig.run([checklist(*ITEMS), gone], kind="deliver")
        await tick(rig, "a")
        assert (await record(rig)).phase is RunPhase.STALLED
        state = await rig.resume([say(TEXT)])
        assert state.status == "completed" and ticks_of(rig, state)["a"] == (True, "Ada")

    async def test_a_forks_facts_hold_the_ticks(self, rig: Rig) -> None:
        await made(rig)
        await tick(rig, "a")
        state = await record(rig)
        facts = await rig.events()
        origin = ev.Origin(run="run", seq=1, hash=f"sha256:{0:064}")
        forked = ev.RunForked(at=state.now, origin=origin, steer="Go on.")
        engine = rig.engine(as_provider([say("Gone on.")]))
        assert [t.item for t in (await engine.fork("fork", facts, forked)).ticks] == ["a"]


@pytest.mark.req("ticks-kept")
class TestReplacements:
    async def replaced(self, rig: Rig, *items: tuple[str, str]) -> RunState:
        await made(rig)
        await tick(rig, "a")
        await tick(rig, "b", by="Grace")
        await record(rig)
        await rig.signals.post("run", b'{"type":"follow_up","text":"Another list."}')
        return await rig.resume([checklist(*items, replace=True), say(TEXT)])

    async def test_an_item_keeps_its_tick_by_its_id_or_its_text(self, rig: Rig) -> None:
        state = await self.replaced(rig, ("a", "Alpha, reworded"), ("z", "Beta"), ("y", "New"))
        assert ticks_of(rig, state) == {"a": (True, "Ada"), "z": (True, "Grace"), "y": (False, "")}

    async def test_the_id_counts_before_the_text(self, rig: Rig) -> None:
        state = await self.replaced(rig, ("a", "Beta"), ("b", "Gamma"), ("c", "Alpha"))
        assert ticks_of(rig, state) == {"a": (True, "Ada"), "b": (True, "Grace"), "c": (False, "")}

    async def test_what_is_gone_is_named(self, rig: Rig) -> None:
        state = await self.replaced(rig, ("b", "Beta"))
        found = checklist_of(state, rig.blobs, "todo")
        assert found is not None and [tick.label for tick in found.removed] == ["Alpha"]

    async def test_a_tick_of_the_old_list_is_a_conflict(self, rig: Rig) -> None:
        old = (await made(rig)).artifacts[0].payload
        await rig.signals.post("run", b'{"type":"follow_up","text":"Another list."}')
        state = await rig.resume([checklist(("a", "Delete it all"), replace=True), say(TEXT)])
        late = tick_of(state, "a", version=old)
        found = checklist_of(state, rig.blobs, "todo")
        against = objection(state, late, found)
        assert against is not None and against.code == "conflict"
        assert isinstance(tick_event(state, 9, late, 1, found), ev.ReceiptIgnored)


@pytest.mark.req("ticks-recorded")
def test_ticks_are_bounded() -> None:
    ticks: tuple[ItemTick, ...] = ()
    for number in range(MAX_TICKS + 5):
        new = ItemTick(
            checklist="c", item=f"{number}", label="", checked=True, at=0, revision=number
        )
        ticks = with_tick(ticks, new)
    assert len(ticks) == MAX_TICKS and ticks[-1].item == str(MAX_TICKS + 4)
