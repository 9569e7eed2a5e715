"""Agents: one value that runs, resumed runs and forks share, in a world that keeps its clients."""

from __future__ import annotations

import asyncio
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import get_type_hints

import pytest

from artificer.agent import Agent
from artificer.agent_definition import AgentFields
from artificer.backends.function.decorator import tool
from artificer.config import Config
from artificer.contracts.model_settings import ModelSettings
from artificer.core.policy import Policy, Rule
from artificer.errors import AuthorError, ConfigError, NotFoundError, OwnedError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.model import ModelFailure
from artificer.world import World

DOWN = ModelFailure(code="unavailable", message="down")


@tool(effect="pure")
async def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


class Closing(ScriptedProvider):
    """A provider that counts how often it was closed."""

    closed = 0

    async def aclose(self) -> None:
        """Count."""
        self.closed += 1


@pytest.mark.req("agent-shared")
async def test_an_agent_is_shared_by_a_run_its_resumption_and_a_fork() -> None:
    script = [reply(call("double", number=2)), DOWN, say("4"), say("Four.")]
    agent = Agent(model=ScriptedProvider(script), tools=[double], kind="chat")
    async with World.in_memory() as world:
        stalled = await world.run("Double 2.", agent)
        assert stalled.status == "stalled"
        assert (await world.resume(stalled.id, agent)).text == "4"
        assert (await world.fork(stalled.id, agent)).text == "Four."
    with pytest.raises(FrozenInstanceError):
        agent.kind = "deliver"  # type: ignore[misc]


@pytest.mark.req("agent-shared")
def test_the_fields_can_be_passed_by_themselves() -> None:
    assert set(get_type_hints(AgentFields)) == set(get_type_hints(Agent))


@pytest.mark.req("agent-fork-policy")
async def test_a_fork_keeps_the_policy_by_which_its_calls_were_judged() -> None:
    agent = Agent(model=ScriptedProvider([say("One."), say("Two.")]), kind="chat")
    other = Agent(model=agent.model, policy=Policy(rules=(Rule(decision="deny"),)), kind="chat")
    async with World.in_memory() as world:
        run = await world.run("Count.", agent)
        with pytest.raises(ConfigError, match="keeps the policy"):
            await world.fork(run.id, other)


@pytest.mark.req("agent-temperature")
@pytest.mark.parametrize(("value", "text"), [(0.2, "0.2"), (1, "1"), (0, "0"), (1.25, "1.25")])
async def test_a_temperature_is_a_number_and_recorded_as_text(value: float, text: str) -> None:
    agent = Agent(
        model=ScriptedProvider([say("Hi.")]), settings=ModelSettings(temperature=value), kind="chat"
    )
    async with World.in_memory() as world:
        run = await world.run("Hi.", agent)
        assert run.state.run_spec.temperature == text


@pytest.mark.req("provider-pool")
async def test_a_world_makes_a_provider_once_and_closes_it_with_itself() -> None:
    passed = Closing([say("Hi."), say("Hi.")])
    async with World.in_memory(Config()) as world:
        pool = world._resources.providers
        assert pool.get("anthropic") is pool.get("anthropic")
        assert pool.get("openai-chat", recorded="chat/vendor") is not pool.get("openai-chat")
        for _ in range(2):
            await world.run("Hi.", Agent(model=passed, kind="chat"))
        assert passed.closed == 0, "its connections are kept from run to run"
    assert passed.closed == 1


@pytest.mark.req("agent-kind")
async def test_a_run_delivers_a_report_unless_it_ends_in_json_or_is_a_chat() -> None:
    assert Agent().run_kind == "deliver"
    assert Agent(output={"type": "object"}).run_kind == "chat"
    assert Agent(kind="chat").run_kind == "chat"
    async with World.in_memory() as world:
        run = await world.run("Hi.", Agent(ScriptedProvider([say("Hello.")])))
    assert (run.state.run_spec.kind, run.text) == ("deliver", "Hello.")
    with pytest.raises(AuthorError, match="ends in a report"):
        Agent(kind="deliver", output={"type": "object"})


@pytest.mark.req("follow-up-sent")
async def test_a_run_that_cannot_go_on_here_does_not_get_a_follow_up(tmp_path: Path) -> None:
    tools, away = tmp_path / "tools", tmp_path / "away"
    tools.mkdir()
    (tools / "echo.clad.toml").write_text(
        '[tool]\nname = "echo"\nversion = "1.0.0"\ndescription = "Say it."\neffect = "pure"\n'
        'risk_tier = "low"\n[command]\nexec = ["echo"]\n'
    )
    provider = ScriptedProvider([say("Done."), say("Again.")])
    agent = Agent(provider, kind="chat", tools=[str(tools)])
    async with World.open(Config(home=tmp_path / "home", project="p")) as world:
        run = await agent.run("Go.", world=world)
        tools.rename(away)
        with pytest.raises(NotFoundError):
            await agent.follow_up(run, "And again.", world=world)
        away.rename(tools)
        run = await agent.follow_up(run, "And again.", world=world)
    assert (run.text, run.state.turn) == ("Again.", 2)


@pytest.mark.req("follow-up-sent")
async def test_a_follow_up_does_not_reach_a_run_that_another_world_executes(tmp_path: Path) -> None:
    config = Config(home=tmp_path, project="p")
    begun, goes_on = asyncio.Event(), asyncio.Event()

    @tool(effect="pure")
    async def wait() -> str:
        """Wait."""
        begun.set()
        await goes_on.wait()
        return "over"

    agent = Agent(ScriptedProvider([reply(call("wait")), say("Done.")]), kind="chat", tools=[wait])
    async with World.open(config) as world, World.open(config) as other:
        running = asyncio.ensure_future(world.run("Go.", agent, run_id="one"))
        await begun.wait()
        with pytest.raises(OwnedError):
            await agent.follow_up("one", "And again.", world=other)
        goes_on.set()
        assert (await running).state.turn == 2
        assert (await other.get("one")).status == "completed"
