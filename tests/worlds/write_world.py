"""How ``0.1.0.tar.gz`` was made: ``python tests/worlds/write_world.py FILE``, with commit 1674097.

The file is a whole world as that release left it, and stays as it is: later releases open, verify,
replay and resume it. What they need to do so, tools and settings, is imported from here.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import BudgetConfig, Config
from artificer.contracts.capabilities import Capabilities, Grant
from artificer.core.policy import Policy, Rule
from artificer.core.spec import Limits
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.fork import ForkChanges
from artificer.values.model import ModelFailure
from artificer.world import World

PROJECT = "p"
NOTES = Capabilities(workspaces=(Grant(names=("notes",)),))
ASKS = Policy(rules=(Rule(decision="ask", tool="pay", reason="It is money."),))
DOWN = ModelFailure(code="unavailable", message="down")
DIES = "ARTIFICER_TEST_DIES"


@tool(effect="pure")
async def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


@tool(effect="once")
async def pay(amount: int) -> str:
    """Pay an amount."""
    _die()
    return f"paid {amount}"


@tool(effect="idempotent")
async def set_price(amount: int) -> str:
    """Set the price."""
    _die()
    return f"the price is {amount}"


TOOLS = (double, pay, set_price)


def _die() -> None:
    if DIES in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)


def config_at(home: Path) -> Config:
    return Config(home=home, project=PROJECT, budget=BudgetConfig(per_day_tokens=10_000_000))


def write_note(version: int, text: str):
    files = [{"path": "a.md", "text": text}]
    return call("workspace.write", workspace="notes", version=version, files=files)


COMMIT = call("workspace.commit", workspace="notes", message="A note.")
SERIES = [{"name": "Sold", "values": [120, 150]}]
CHART = {"title": "Bicycles", "labels": ["Jan", "Feb"], "series": SERIES}
ITEMS = {"kind": "list", "id": "l", "items": ["one", "two"]}


async def main(home: Path) -> None:
    async with World.open(config_at(home)) as world:

        async def run(name, script, **fields):
            agent = Agent(model=ScriptedProvider(script), tools=TOOLS, **fields)
            return await world.run("Go.", agent, run_id=name)

        double_it = reply(call("double", number=21))
        await run("completed", [double_it, say("It is **42**.")])
        report = "# Bicycles\n\n{{artifact:list:l}}\n\n{{artifact:chart:c}}"
        made = reply(
            call("create_list", list=ITEMS),
            call("create_bar_chart", id="c", **CHART),
        )
        await run("report", [made, say(report)], kind="deliver")
        await run("report-stalled", [made, DOWN], kind="deliver")
        await run("waiting", [reply(call("pay", amount=5))], policy=ASKS)
        await run("stalled", [double_it, DOWN])
        await run("steered", [double_it, DOWN])
        from artificer.core.signals import AnswerCall, FollowUp, Steer

        await world.send("steered", Steer(by="anna", text="In words."))
        await run("asked-more", [say("One.")])
        await world.send("asked-more", FollowUp(by="anna", text="And two?"))
        asked = await run("approved", [reply(call("pay", amount=7))], policy=ASKS)
        answer = AnswerCall(by="anna", call=asked.questions[0].digest, approved=True)
        await world.send("approved", answer)
        notes = [reply(write_note(0, "first")), reply(COMMIT), say("Noted.")]
        await run("notes", notes, capabilities=NOTES)
        more = [reply(write_note(1, "second")), reply(COMMIT), reply(write_note(2, "third")), DOWN]
        await run("notes-stalled", more, capabilities=NOTES)
        turns = [reply(call("double", number=n)) for n in range(90)]
        await run("long", [*turns, DOWN], limits=Limits(turns=200))
        await run("pruned", [double_it, say("Gone.")])
        await world.maintenance.prune("pruned", by="anna", reason="old")
        forked = ScriptedProvider([say("Again.")])
        await world.fork(
            "completed",
            Agent(model=forked, tools=TOOLS, kind="chat"),
            ForkChanges(steer="Again."),
            new_id="forked",
        )


async def die(home: Path, name: str) -> None:
    async with World.open(config_at(home)) as world:
        script = ScriptedProvider([reply(call(name, amount=3))])
        await world.run(
            "Go.", Agent(model=script, tools=TOOLS, kind="chat"), run_id=f"killed-{name}"
        )


if __name__ == "__main__":
    if sys.argv[1] == "--die":
        asyncio.run(die(Path(sys.argv[2]), sys.argv[3]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(main(Path(folder)))
            for name in ("pay", "set_price"):
                command = [sys.executable, __file__, "--die", folder, name]
                subprocess.run(command, env={**os.environ, DIES: "1"}, check=False)
            with tarfile.open(sys.argv[1], "w:gz") as tar:
                tar.add(Path(folder, PROJECT), PROJECT)
