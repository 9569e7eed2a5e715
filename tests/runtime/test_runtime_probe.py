"""After a crash the world is asked whether a call had happened, where its tool can tell."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import structs

from artificer import ScriptedProvider, World, tool
from artificer.agent import Agent
from artificer.core import events as ev
from artificer.core.state import RunState
from artificer.errors import Fenced
from artificer.ownership.local import LocalOwner
from artificer.ports import Call, CallLocks, Probed
from artificer.providers.scripted import call, reply, say
from artificer.testing.rig import Rig
from artificer.values.blocks import ToolResultBlock

pytestmark = pytest.mark.req("call-probe")


def results(state: RunState) -> list[tuple[str, str]]:
    return [
        (block.status, block.content)
        for message in state.history
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    ]


async def crashed(rig: Rig, prober: Any) -> list[Call]:
    """A run that ended while its one call was under way."""
    begun = asyncio.Event()

    async def pay(call: Call) -> str:
        begun.set()
        if len(rig.tools.calls) == 1:
            await asyncio.sleep(3600)
        return "paid now"

    rig.tools.add("pay", pay, effect="once", prober=prober)
    driving = asyncio.ensure_future(rig.run([reply(call("pay", amount=5))]))
    await begun.wait()
    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)
    return rig.tools.calls


@pytest.mark.parametrize(
    ("found", "status", "content", "times"),
    [
        (Probed(found="happened", content="receipt 17"), "ok", "receipt 17", 1),
        (Probed(found="happened"), "ok", "It had happened", 1),
        (Probed(found="absent"), "ok", "paid now", 2),
        (Probed(found="unknown", reason="The bank is closed."), "ambiguous", "bank is closed", 1),
        (OSError("no line"), "ambiguous", "The probe broke.", 1),
        (SystemExit(0), "ambiguous", "The probe broke.", 1),
        (asyncio.CancelledError(), "ambiguous", "The probe broke.", 1),
    ],
)
async def test_what_the_world_says_is_done(
    found: Probed | BaseException, status: str, content: str, times: int
) -> None:
    rig = Rig()
    asked: list[Call] = []

    async def prober(call: Call) -> Probed:
        asked.append(call)
        if isinstance(found, BaseException):
            raise found
        return found

    calls = await crashed(rig, prober)
    state = await rig.resume([say("Done.")])
    ((actual, text),) = results(state)
    assert (actual, len(calls)) == (status, times)
    assert content in text
    assert status == "ok" or json.loads(text)["status"] == status, "the model reads it too"
    assert asked[0].key == calls[0].key, "it is asked about this very call"
    (probed,) = [e for e in await rig.events() if isinstance(e, ev.CallProbed)]
    assert probed.found == (found.found if isinstance(found, Probed) else "unknown")
    assert bool(state.doubts) == (status == "ambiguous")
    assert (await rig.replay()).identical


async def test_a_run_can_be_stopped_while_the_world_is_asked() -> None:
    rig, asked = Rig(), asyncio.Event()

    async def prober(call: Call) -> Probed:
        asked.set()
        await asyncio.sleep(3600)
        return Probed(found="absent")

    await crashed(rig, prober)
    resuming = asyncio.ensure_future(rig.resume([say("Done.")]))
    await asked.wait()
    resuming.cancel()
    await asyncio.wait([resuming])
    assert resuming.cancelled()
    assert not [event for event in await rig.events() if isinstance(event, ev.CallProbed)]


@pytest.mark.parametrize("booked", [True, False])
async def test_a_function_with_a_probe(tmp_path: Path, booked: bool) -> None:
    ledger, killed = tmp_path / "ledger", asyncio.Event()

    async def find(seat: str) -> bool:
        return ledger.exists() and seat in ledger.read_text(encoding="utf-8")

    @tool(effect="once", probe=find)
    async def book(seat: str) -> str:
        """Book a seat."""
        if not killed.is_set():
            if booked:
                ledger.write_text(seat, encoding="utf-8")
            killed.set()
            await asyncio.sleep(3600)
        ledger.write_text(seat, encoding="utf-8")
        return "booked"

    async with World.in_memory() as world:
        script = ScriptedProvider([reply(call("book", seat="4A"))])
        driving = asyncio.ensure_future(
            world.run("Go.", Agent(model=script, tools=[book], kind="chat"), run_id="r")
        )
        await killed.wait()
        driving.cancel()
        await asyncio.gather(driving, return_exceptions=True)
        run = await world.resume(
            "r", Agent(model=ScriptedProvider([say("Done.")]), tools=[book], kind="chat")
        )
        ((status, content),) = results(run.state)
        assert status == "ok"
        assert (content == "booked") is not booked
        assert ledger.read_text(encoding="utf-8") == "4A"


@pytest.mark.parametrize("found", ["absent", "unknown"])
async def test_a_keyed_call_runs_again_only_where_its_probe_says_that_it_had_not_happened(
    found: Literal["absent", "unknown"],
) -> None:
    rig, begun, keys = Rig(), asyncio.Event(), list[str]()

    async def pay(call: Call) -> str:
        keys.append(call.key)
        begun.set()
        if len(keys) == 1:
            await asyncio.sleep(3600)
        return "paid now"

    async def prober(call: Call) -> Probed:
        return Probed(found=found, reason="The bank said so.")

    rig.tools.add("pay", pay, effect="keyed", prober=prober)
    driving = asyncio.ensure_future(rig.run([reply(call("pay", amount=5))]))
    await begun.wait()
    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)
    ((status, content),) = results(await rig.resume([say("Done.")]))
    if found == "absent":
        assert (status, keys) == ("ok", [keys[0]] * 2)
    else:
        assert (status, len(keys)) == ("ambiguous", 1)
        assert "The bank said so." in content
    assert (await rig.replay()).identical


class ElsewhereOwner(LocalOwner):
    """An owner of which nobody here can find out whether it lives."""

    @property
    def id(self) -> str:
        return f"elsewhere:{super().id}"


class HeldLocks:
    """Locks of which a process of every call still holds one."""

    def of(self, key: str) -> CallLocks:
        return CallLocks(Path("own"), Path("shared"), "us")

    async def held(self, keys: Iterable[str]) -> dict[str, str]:
        return dict.fromkeys(keys, "Process 17 is still alive.")

    def forget(self, keys: Iterable[str]) -> None:
        pass


@pytest.mark.req("fencing-token")
@pytest.mark.parametrize(
    ("owner", "fenced", "held", "found", "status"),
    [
        (ElsewhereOwner, True, False, "absent", "ok"),
        (ElsewhereOwner, True, False, "happened", "ok"),
        (ElsewhereOwner, True, False, "unknown", "ambiguous"),
        (ElsewhereOwner, False, False, "absent", "ambiguous"),
        (ElsewhereOwner, True, True, "absent", "ambiguous"),
        (LocalOwner, True, False, "absent", "ambiguous"),  # it is known to live
    ],
)
@pytest.mark.parametrize("effect", ["once", "keyed"])
async def test_absent_counts_without_a_dead_owner_only_where_the_target_is_fenced(
    owner: type[LocalOwner], fenced: bool, held: bool, found: Any, status: str, effect: str
) -> None:
    rig, begun, made = Rig(owner=owner()), asyncio.Event(), asyncio.Event()
    asked: list[int] = []

    async def pay(call: Call) -> str:
        begun.set()
        if call.fencing_token == 1:
            await made.wait()
        return "paid now"

    async def prober(call: Call) -> Probed:
        asked.append(call.fencing_token)
        return Probed(found=found)

    rig.tools.add("pay", pay, effect=effect, fenced=fenced, prober=prober)
    former = asyncio.ensure_future(rig.run([reply(call("pay", amount=5))]))
    await begun.wait()
    rig.owner = LocalOwner()
    engine = rig.engine(ScriptedProvider([say("Done.")]))
    if held:
        engine.performer = structs.replace(engine.performer, locks=HeldLocks())
    state = await engine.resume("run", take_over=owner is LocalOwner)
    ((actual, _),) = results(state)
    tokens = [call.fencing_token for call in rig.tools.calls]
    repeated = (status, found) == ("ok", "absent")
    assert (actual, asked, tokens) == (status, [2], [1, 2] if repeated else [1])
    made.set()
    with pytest.raises(Fenced):
        await former
    assert (await rig.replay()).identical
