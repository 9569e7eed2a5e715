"""A run takes a signal only as it was posted: a changed one is refused, and each is proven."""

from __future__ import annotations

import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest

from artificer import AnswerCall, FollowUp, Policy, Rule, World
from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config
from artificer.core import events as ev
from artificer.core.signal_events import follows
from artificer.core.signals import Cancel, Pause, Signal, Steer
from artificer.errors import TamperedError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.proving.verify import verify
from artificer.storage.memory import MemorySignals
from artificer.testing.rig import Rig

pytestmark = pytest.mark.req("signals-proven")

ASK = Policy(rules=(Rule(decision="ask", tool="pay", reason="It is money."),))
PAID: list[int] = []
OLDER = Path(__file__).parents[1] / "worlds" / "0.1.0.tar.gz"


@tool(effect="once")
async def pay(amount: int) -> str:
    """Pay an amount."""
    PAID.append(amount)
    return f"paid {amount}"


def on_disk(folder: Path, name: str = "p") -> Config:
    return Config(home=folder, project=name, durability="process")


def edit(config: Config, statement: str, *values: object) -> None:
    db = sqlite3.connect(config.project_folder / "journal.db")
    db.execute(statement, values)
    db.commit()
    db.close()


async def asked(world: World) -> AnswerCall:
    """A run that waits for a person; the answer that it waits for."""
    PAID.clear()
    script = [reply(call("pay", amount=7))]
    run = await world.run(
        "Pay.",
        Agent(model=ScriptedProvider(script), tools=[pay], policy=ASK, kind="chat"),
        run_id="a",
    )
    (question,) = run.questions
    return AnswerCall(call=question.digest, approved=False, by="alice")


async def test_a_denial_that_was_made_an_approval_is_not_acted_on(tmp_path: Path) -> None:
    config = on_disk(tmp_path)
    async with World.open(config) as world:
        denied = await asked(world)
        await world.send("a", denied)
        approved = denied.replace(approved=True).canonical()
        edit(config, "UPDATE letters SET body = ?", approved)
        with pytest.raises(TamperedError, match="Signal 1 to run a"):
            await world.resume(
                "a", Agent(model=ScriptedProvider([say("Paid.")]), tools=[pay], kind="chat")
            )
        assert PAID == []
        problems = (await world.archive.verify()).problems
        assert "Signal 1 to run a is not what was posted." in problems


async def test_an_approval_that_says_something_else_than_its_signal_is_found() -> None:
    """As if a process had been made to read another signal than the one in the chain."""
    rig = Rig()
    rig.tools.add("pay", lambda _: done(), effect="once")
    state = await rig.run([reply(call("pay"))], policy=ASK)
    (digest,) = [c.verdict.digest for c in state.calls if c.verdict and c.status is None]
    denied = AnswerCall(call=digest or "", approved=False, by="alice")
    await rig.signals.post("run", denied.canonical())
    rig.signals = MemorySignals()
    await rig.signals.post("run", denied.replace(approved=True).canonical())
    assert (await rig.resume([say("Paid.")])).status == "completed"
    (problem,) = (await verify(rig.journal, rig.blobs)).problems
    assert "differs from its signal 1" in problem


async def done() -> str:
    return "done"


async def test_a_signal_that_nobody_posted_is_found() -> None:
    rig = Rig()
    rig.signals = MemorySignals()
    await rig.run([say("Done.")])
    await rig.signals.post("run", FollowUp(text="More.").canonical())
    await rig.resume([say("More.")])
    (problem,) = (await verify(rig.journal, rig.blobs)).problems
    assert "names signal 1, which was never posted" in problem


class TestElsewhere:
    async def test_an_imported_run_took_its_signals_elsewhere(self, tmp_path: Path) -> None:
        """It goes on counting where it was, and its own signals are proven."""
        async with World.open(on_disk(tmp_path, "from")) as world:
            await world.send("a", await asked(world))
            await world.resume(
                "a", Agent(model=ScriptedProvider([say("Not paid.")]), tools=[pay], kind="chat")
            )
            data = await world.archive.export_run("a")
        config = on_disk(tmp_path, "to")
        async with World.open(config) as world, World.in_memory() as memory:
            for here in (world, memory):
                await here.import_run(data)
                assert (await here.archive.verify()).problems == []
                assert await here.send("a", FollowUp(text="And now?")) == 2
                run = await here.resume(
                    "a", Agent(model=ScriptedProvider([say("Nothing.")]), tools=[pay], kind="chat")
                )
                assert run.text == "Nothing."
                assert (await here.archive.verify()).problems == []
        edit(config, "UPDATE letters SET body = ?", FollowUp(text="And then?").canonical())
        async with World.open(config) as world:
            assert (await world.archive.verify()).problems

    async def test_a_fork_took_over_the_signals_of_its_origin(self) -> None:
        async with World.in_memory() as world:
            await world.send("a", await asked(world))
            await world.resume(
                "a", Agent(model=ScriptedProvider([say("Not paid.")]), tools=[pay], kind="chat")
            )
            fork = await world.fork(
                "a", agent=Agent(model=ScriptedProvider([say("No.")]), tools=[pay], kind="chat")
            )
            await world.send(fork.id, FollowUp(text="Why?"))
            await world.resume(
                fork.id, Agent(model=ScriptedProvider([say("Because.")]), tools=[pay], kind="chat")
            )
            assert (await world.archive.verify()).problems == []

    async def test_a_world_from_before_signals_were_chained(self, tmp_path: Path) -> None:
        """Signals taken by then are accepted as they are; waiting and later ones are proven."""
        with tarfile.open(OLDER) as tar:
            tar.extractall(tmp_path, filter="data")
        config = on_disk(tmp_path)
        async with World.open(config) as world:
            assert (await world.archive.verify()).problems == []
            await world.send("waiting", Cancel())
        edit(config, "UPDATE letters SET body = ? WHERE run = 'waiting'", Pause().canonical())
        edit(config, "UPDATE letters SET body = ? WHERE run = 'steered'", Pause().canonical())
        async with World.open(config) as world:
            problems = (await world.archive.verify()).problems
            for run in ("waiting", "steered"):
                assert f"Signal 1 to run {run} is not what was posted." in problems


WHO: dict[str, Any] = {"at": 1, "by": "", "letter": 1}
LATE = ev.ReceiptIgnored(at=1, letter=1, what="cancel", reason="Too late.")
ANSWERED = ev.ApprovalAnswered(intent=1, approved=True, reason="", content="", **WHO)


@pytest.mark.parametrize(
    ("letter", "event"),
    [
        (Steer(text="a", by="me"), ev.Steered(text="a", **WHO)),
        (Steer(text="a"), ev.Steered(text="b", **WHO)),
        (Steer(text="a"), ev.FollowUpReceived(text="a", **WHO)),
        (Pause(reason="a"), ev.PauseRequested(reason="b", **WHO)),
        (Pause(), LATE),
        (None, LATE),
        (None, ev.PauseRequested(reason="", **WHO)),
        (AnswerCall(call="sha256:" + "0" * 64, approved=True), ANSWERED),
        (AnswerCall(call="sha256:" + "1" * 64, approved=False), ANSWERED),
    ],
)
def test_what_does_not_follow(letter: Signal | None, event: ev.Event) -> None:
    assert not follows(event, letter, "sha256:" + "1" * 64)
