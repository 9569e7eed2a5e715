"""One budget: a run and all runs below it together stay within the run's limits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from artificer import Agent, Config, ForkChanges, Limits, RunContext, ScriptedProvider, World
from artificer.ports import Amount
from artificer.providers.scripted import call, reply, say
from artificer.system.clock import SystemClock
from artificer.values.model import ModelReply, Usage

pytestmark = pytest.mark.req("child-budget")

SMALL = Limits(max_tokens=300)
PRICES = {"scripted/scripted": {"input": 1, "output": 1}}


class Crash(BaseException):
    """The end of the process."""


def crash(body: object) -> ModelReply:
    raise Crash


def long(text: str) -> ModelReply:
    """A reply for 300 tokens."""
    return say(text).replace(usage=Usage(input_tokens=20, output_tokens=280))


def agent(*script: object, **options: Any) -> Agent:
    return Agent(ScriptedProvider(list(script)), kind="chat", instructions="", **options)  # type: ignore[arg-type]


def writing(*prompts: str) -> ModelReply:
    return reply(*(call("write", prompt=prompt) for prompt in prompts))


def chief(script: list[object], writer: Agent, **limits: int) -> Agent:
    tools = [writer.as_tool("write", "Write.")]
    return agent(*script, tools=tools, limits=Limits(max_tokens=300, **limits))


async def spent(world: World, run: str) -> Amount:
    budget = world._resources.storage.budget
    return (await budget.spent(f"run:{run}", SystemClock().now())).settled


async def test_children_at_the_same_time_share_what_is_left() -> None:
    starting, all_start = iter(range(3)), asyncio.Event()

    def instructions(ctx: RunContext[None]) -> str:
        if next(starting) == 2:
            all_start.set()
        return ""

    async def answer(body: object) -> ModelReply:
        await all_start.wait()
        return long("a")

    model = ScriptedProvider(answer)
    writer = Agent(model, kind="chat", instructions=instructions, limits=SMALL)
    async with World.in_memory() as world:
        run = await world.run(
            "Go.", chief([writing("1", "2", "3"), say("No.")], writer, total_tokens=700), run_id="r"
        )
        reasons = [(await world.get(child)).reason for child in run.children]
        assert sorted(map(str, reasons)) == ["done", "done", "token_limit"]
        assert run.state.usage.input_tokens + run.state.usage.output_tokens == 615
        assert (await spent(world, "r")).tokens == 615
        refused = run.children[reasons.index("token_limit")]
        why = (await world.archive.explain(refused)).why
        assert "Of 700 tokens for run r and its children 615 tokens are spent" in why
        for name in ("r", *run.children):
            assert (await world.archive.replay(name)).divergence is None
        assert (await world.archive.verify()).problems == []


async def test_dollars_are_shared_too() -> None:
    writer = agent(*map(long, "abc"), limits=SMALL)
    async with World.in_memory(Config.from_json({"prices": PRICES})) as world:
        run = await world.run(
            "Go.", chief([writing("1", "2", "3"), say("No.")], writer, cost_micros=700)
        )
        reasons = [str((await world.get(child)).reason) for child in run.children]
        assert sorted(reasons) == ["cost_limit", "done", "done"]
        assert run.state.cost_micros == 615


async def test_a_child_of_a_child_spends_from_every_run_above_it() -> None:
    writer = agent(long("a"), long("b"), limits=SMALL)
    middle = chief([writing("1", "2"), say("Half.")], writer, total_tokens=100_000)
    top = agent(
        reply(call("lead", prompt="Lead.")),
        say("Done."),
        tools=[middle.as_tool("lead", "Lead.")],
        limits=Limits(max_tokens=300, total_tokens=1_500),
    )
    async with World.in_memory() as world:
        run = await world.run("Go.", top, run_id="r")
        (led,) = run.children
        assert run.status == "completed"
        assert (await spent(world, "r")).tokens == 2 * 15 + (await spent(world, led)).tokens
        assert (await spent(world, led)).tokens == 630


async def test_after_a_crash_the_same_budget_goes_on(tmp_path: Path) -> None:
    config = Config(home=tmp_path, project="p", durability="process")

    for limit, expected in ((900, "stalled"), (2_000, "completed")):
        name = f"r{limit}"
        replies = iter([long("a")])
        dying = ScriptedProvider(lambda body: next(replies, None) or crash(body))  # noqa: B023
        writer = Agent(dying, kind="chat", instructions="", limits=SMALL)
        async with World.open(config) as world:
            with pytest.raises(Crash):
                await world.run(
                    "Go.",
                    chief([writing("1"), writing("2")], writer, total_tokens=limit),
                    run_id=name,
                )
        again = chief([say("Done.")], agent(long("b"), limits=SMALL), total_tokens=limit)
        async with World.open(config) as world:
            await world.resume(name, again)
            first, second = (await world.get(name)).children
            assert (await world.get(first)).status == "completed"
            assert (await world.get(second)).status == expected, "a dead request may have cost 300"
            assert (await spent(world, name)).tokens <= limit


async def test_a_fork_has_a_budget_of_its_own() -> None:
    writer = agent(*map(long, "abcd"), limits=SMALL)
    first = chief([writing("1"), say("Done.")], writer, total_tokens=700)
    more = chief([writing("2", "3", "4"), say("More.")], writer, total_tokens=700)
    async with World.in_memory() as world:
        await world.run("Go.", first, run_id="r")
        assert (await spent(world, "r")).tokens == 330
        fork = await world.fork("r", more, ForkChanges(steer="More."), new_id="f")
        reasons = [str((await world.get(child)).reason) for child in fork.children]
        assert sorted(reasons) == ["done", "done", "token_limit"]
        assert (await spent(world, "f")).tokens == 615


async def test_a_child_without_a_price_asks_nothing_where_dollars_are_limited() -> None:
    class Other(ScriptedProvider):
        name = "other"

    writer = Agent(Other([say("Free?")]), kind="chat", instructions="")
    async with World.in_memory(Config.from_json({"prices": PRICES})) as world:
        run = await world.run("Go.", chief([writing("1"), say("No.")], writer, cost_micros=9_000))
        child = await world.get(run.children[0])
        assert (child.status, child.failure) == ("stalled", "budget")
        assert "price of 'other/other'" in (await world.archive.explain(child.id)).why


async def test_a_run_without_limits_has_no_account_of_its_own() -> None:
    async with World.in_memory() as world:
        await world.run("Go.", chief([writing("1"), say("Done.")], agent(long("a"))), run_id="r")
        assert await spent(world, "r") == Amount()
