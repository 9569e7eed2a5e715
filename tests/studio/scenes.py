"""A world in which every view of the studio has something to show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from engineer import Engineer
from git_project import project
from parts import PAIR, PROJECT
from revised import revised
from site_of_builds import Approving
from studio_kit import Studio, serving

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.builds.facts import BuildOptions
from artificer.config import Config
from artificer.core.policy import Policy, Rule
from artificer.core.signals import Pause
from artificer.ports import PreparedRequest
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.studio.jobs.queue import JobQueue
from artificer.values.model import (
    ArgumentsDelta,
    Delta,
    ModelFailure,
    ModelReply,
    RetryDelta,
    TextDelta,
)
from artificer.world import World

WEEKS = ["W38", "W39", "W40", "W41", "W42", "W43", "W44"]
LAST, THIS = [412, 433, 428, 461, 502, 518, 476], [430, 447, 469, 590, 688, 731, 640]
PROMPT = "How did the autumn sale go, and what should we do before winter?"
REPORT = """# The autumn sale

Orders rose in **every week of the sale**, most of all in the three weeks after the newsletter. In
all, {{artifact:value:orders}} orders came in, a fifth more than last year.

{{artifact:chart:by-week}}

## What sold

Boots and lamps carried the sale; tents did not move although they were cut by half.

{{artifact:table:products}}

## Before winter

{{artifact:checklist:todo}}

{{artifact:list:risks}}
"""
FORMING = """The newsletter of week 41 did what it should: orders rose by a quarter within two days,
and they stayed high until the end of the sale. What we do not know yet is how many of """
BEGUN_TABLE = '{"table": {"kind": "table", "id": "customers", "title": "Who came back", "col'
LATER = 4_000_000_000_000
"""A moment far away: milliseconds since 1970."""

MANY = 45
"""Runs of no interest, so that the list of runs has a second page."""


STOCK = """
[tool]
name = "stock"
version = "1.0.0"
description = "Say how many of a product are in the warehouse, and on which shelves they lie."

[command]
exec = ["echo", "12"]
"""


@tool(effect="pure")
def orders(year: int) -> dict[str, Any]:
    """Return the orders of each week of the autumn sale of a year."""
    count = THIS if year == 2026 else LAST
    weeks = [{"week": week, "orders": n} for week, n in zip(WEEKS, count, strict=True)]
    return {"year": year, "weeks": weeks, "total": sum(count)}


@tool(effect="pure")
def products() -> list[dict[str, Any]]:
    """Return what was sold."""
    return [
        {"product": "Boots, waterproof", "sold": 1204, "returned": 61, "margin": 31.5},
        {"product": "Lamp, rechargeable", "sold": 1077, "returned": 18, "margin": 42.0},
        {"product": "Blanket, wool", "sold": 811, "returned": 7, "margin": 38.2},
        {"product": "Stove, small", "sold": 540, "returned": 44, "margin": 22.9},
        {"product": "Tent, two people", "sold": 63, "returned": 12, "margin": -4.1},
    ]


@tool
def send_mail(to: str, subject: str, text: str) -> str:
    """Send a mail to customers."""
    return f"sent to {to}: {subject} ({len(text)} characters)"


ASKS = Policy(
    rules=(Rule(tool="send_mail", decision="ask", reason="Mail to customers needs a person."),)
)


def sale(text: str = REPORT) -> ScriptedProvider:
    """A model that reports on the sale with bound figures."""
    weeks = {"call": "orders#1", "rows": "/weeks", "label": "week", "values": ["orders"]}
    table = {
        "kind": "table",
        "id": "products",
        "title": "What was sold",
        "data": {"call": "products#1", "rows": ""},
    }
    items = ["Order boots again", "Ask the newsletter's readers", "Take the tents off the page"]
    todo = [{"id": f"i{n}", "label": label} for n, label in enumerate(items)]
    risks = ["The supplier of boots closes in December.", "Returns of stoves are rising."]
    return ScriptedProvider(
        [
            reply(call("orders", year=2026), call("orders", year=2025), call("products")),
            reply(
                call("create_line_chart", id="by-week", title="Orders by week", data=weeks),
                call("create_value", id="orders", data={"call": "orders#1", "at": "/total"}),
                call("create_table", table=table),
            ),
            reply(
                call(
                    "create_checklist",
                    checklist={
                        "kind": "checklist",
                        "id": "todo",
                        "title": "Before winter",
                        "items": todo,
                    },
                ),
                call(
                    "create_list",
                    list={"kind": "list", "id": "risks", "title": "Risks", "items": risks},
                ),
            ),
            say(text),
        ]
    )


class FormingModel(ScriptedProvider):
    """A model that writes a part of its last reply as often as it may, and never ends it.

    While it ``is_limited``, it says instead that its provider wants it to wait.
    """

    def __init__(self, *replies: ModelReply, text: str = FORMING) -> None:
        super().__init__(replies)
        self._text = text
        self.begun, self.may_write = asyncio.Event(), asyncio.Event()
        self.is_limited = False

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        if self.remaining:
            return await super().generate(prepared, on_delta)
        self.begun.set()
        while True:
            await self.may_write.wait()
            self.may_write.clear()
            if self.is_limited:
                on_delta(RetryDelta(code="rate_limited", until=LATER, attempt=2, attempts=4))
                continue
            for word in self._text.split(" "):
                on_delta(TextDelta(text=f"{word} "))
            on_delta(ArgumentsDelta(index=0, name="create_table", text=BEGUN_TABLE))
            on_delta(ArgumentsDelta(index=1, name="orders", text='{"year": 20'))


class PausingModel(ScriptedProvider):
    """A model during whose first reply somebody pauses its run."""

    def __init__(self, world: World, run: str) -> None:
        super().__init__([reply(call("products"))])
        self._world, self._run = world, run

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        await self._world.send(self._run, Pause(by="Ada"))
        return await super().generate(prepared, on_delta)


@asynccontextmanager
async def scenery(folder: Path) -> AsyncIterator[tuple[Studio, FormingModel]]:
    """Serve a world in which each scene can be seen, one of them with a model that writes."""
    home = project(folder / "p", PROJECT)
    (folder / "tools").mkdir()
    (folder / "tools" / "stock.clad.toml").write_text(STOCK, "utf-8")
    config = Config(
        home=folder / "home", project="p", durability="process", tools=(folder / "tools",)
    )
    async with World.open(config) as world:
        forming = FormingModel(
            reply(call("orders", year=2026), call("products")),
            reply(call("create_value", id="orders", data={"call": "orders#1", "at": "/total"})),
        )
        await _runs(world, home)
        agents = {"sale": Agent(sale(), tools=[orders])}
        async with serving(world, agents=agents) as studio, AsyncExitStack() as near:
            prompt = "Which customers came back after the newsletter?"
            agent = Agent(forming, tools=[orders, products])
            _jobs(studio.jobs.queue)
            config = Config(home=folder / "none", project="none")
            bare = await near.enter_async_context(World.in_memory(config))
            studio.empty = await near.enter_async_context(serving(bare))
            under_way = asyncio.create_task(world.run(prompt, agent, run_id="forming"))
            await forming.begun.wait()
            try:
                yield studio, forming
            finally:
                under_way.cancel()
                await asyncio.gather(under_way, return_exceptions=True)


def _jobs(queue: JobQueue) -> None:
    """Runs for workers over HTTP: one that nobody could execute, one with a worker, one queued."""
    queue.submit("failed", attempts=1)
    tried = queue.lease("token 1", "build-7 (token 1)", "", 86_400)
    assert tried is not None
    queue.end(tried, "queued", "", failed="The run needs the agent 'sales:agent': not here.")
    queue.submit("family", priority=1)
    assert queue.lease("token 2", "gpu-2.fra.example.org (token 2)", "", 86_400) is not None
    queue.submit("sale", priority=5)


async def _runs(world: World, home: Path) -> None:
    for number in range(MANY):
        said = ScriptedProvider([say("Nothing of note.")])
        await world.run(f"What happened in week {number + 1}?", Agent(said, kind="chat"))
    await revised(world)
    await _builds(world, home)
    tools = [orders, products]
    for run, text in (("again", REPORT.replace("most of all", "above all")), ("sale", REPORT)):
        done = await world.run(PROMPT, Agent(sale(text), tools=tools), run_id=run)
        assert done.status == "completed", done.state.findings
    down = ScriptedProvider([ModelFailure(code="auth", message="the key is not valid")])
    await world.run("Compare our prices with the market's.", Agent(down), run_id="failed")
    await world.run("Write and check a press release.", _family(), run_id="family")
    pausing = Agent(PausingModel(world, "paused"), tools=tools)
    paused = await world.run("Which products come back most?", pausing, run_id="paused")
    assert paused.status == "paused"
    mail = call(
        "send_mail",
        to="customers-of-2026@example.org",
        subject="Thank you, and what comes next",
        text="Dear customer,\n\nthe sale is over. Boots come back in December.\n",
    )
    asking = Agent(ScriptedProvider([reply(mail)]), kind="chat", tools=[send_mail], policy=ASKS)
    await world.run("Thank everybody who bought something in the sale.", asking, run_id="asks")


async def _builds(world: World, home: Path) -> None:
    """Build software: once to the end, and once until its plan waits for a person."""
    for run, decider in (("built", Approving()), ("plan", None)):
        build = await world.build(
            "Make the two parts.",
            Agent(ScriptedProvider(Engineer(PAIR)), kind="chat"),
            project=home,
            options=BuildOptions(size="small"),
            decider=decider,
            run_id=run,
        )
        assert build.status == ("completed" if decider else "waiting"), build.text


def _family() -> Agent:
    """An agent that calls two others."""

    def chat(*script: ModelReply, **options: Any) -> Agent:
        return Agent(ScriptedProvider(script), kind="chat", **options)

    check = chat(say("Two dates are wrong: the sale began on the 14th."))
    write = chat(say("The sale began on the 14th."))
    return chat(
        reply(call("write", prompt="Write a press release on the sale.")),
        reply(call("check", prompt="Check the dates.")),
        say("The release is written, and its dates are right."),
        tools=[write.as_tool("write", "Write."), check.as_tool("check", "Check.")],
    )
