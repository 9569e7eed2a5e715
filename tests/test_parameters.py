"""Arguments that the public door does not take: refused by name, with the right way."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import artificer
from artificer import (
    Agent,
    Answer,
    Audio,
    Brief,
    BuildOptions,
    Capabilities,
    File,
    FollowUp,
    ForkChanges,
    Image,
    Limits,
    ModelSettings,
    Policy,
    Receipt,
    RunContext,
    ToolChoice,
    World,
    load_config,
    tool,
)
from artificer import types as public_types
from artificer.agent_definition import AgentFields
from artificer.errors import AuthorError, BugError
from artificer.providers.scripted import ScriptedProvider, say
from artificer.wiring.argument_places import ADVICE, HABITS, PARTS, RUN, place_of
from artificer.wiring.resources import WorldParts

pytestmark = pytest.mark.req("door-parameters")


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


async def _open(**parts: Any) -> None:
    async with World.open(**parts):
        pass


def agent() -> Agent[Any]:
    return Agent(ScriptedProvider(lambda _: say("Hi.")), kind="chat")


Wrong = Callable[[Any], Any]
WRONG: list[tuple[Wrong, str, str]] = [
    (lambda any: any(Agent)(output_type=int), "Agent has no parameter 'output_type'", "output=…"),
    (lambda any: any(Agent)(system_prompt="x"), "'system_prompt'", "Write instructions=…"),
    (lambda any: any(Agent)(temperature=1), "'temperature'", "settings=ModelSettings(temperature="),
    (lambda any: any(Agent)(max_turns=3), "'max_turns'", "limits=Limits(turns=…)"),
    (lambda any: any(Agent)(message_history=[]), "'message_history'", "agent.run(prompt, history="),
    (lambda any: any(Agent)(output_guardrails=[]), "'output_guardrails'", "Pass check=…"),
    (lambda any: any(Agent)(prompt="Be brief."), "'prompt'", "Write instructions=…"),
    (lambda any: any(Agent)(mcp_servers=[]), "'mcp_servers'", "[mcp.servers.NAME]"),
    (lambda any: any(Agent)(handoffs=[]), "'handoffs'", "agent.as_handoff(name, description)"),
    (lambda any: any(agent().run)(input="x"), "'input'", "agent.run(prompt)"),
    (lambda any: any(agent().run_sync)("x", session=1), "'session'", "agent.follow_up(run"),
    (lambda any: any(Agent)(toolz=[]), "'toolz'", "Did you mean 'tools'?"),
    (lambda any: any(Agent)("m", "x"), "takes 1 of its arguments by position", "by name"),
    (lambda any: any(artificer.run)("x", temperature=1), "'temperature'", "ModelSettings("),
    (lambda any: any(agent().run_sync)("x", tools=[]), "Agent.run has", "Agent(…, tools=…)"),
    (lambda any: any(agent().run_sync)("x", seed=1), "Agent.run has", "ModelSettings(seed=…)"),
    (lambda any: any(agent().as_tool)("a", "b", timeot=1), "'timeot'", "Did you mean 'timeout'?"),
    (lambda any: any(World.in_memory)(clok=1), "World.in_memory has", "Did you mean 'clock'?"),
    (lambda any: any(World.in_memory)(model="m"), "'model'", "Agent(…, model=…)"),
    (lambda any: World.in_memory().guard(double, key="k", polici=1), "'polici'", "'policy'?"),
    (lambda any: any(tool)(efect="pure"), "@tool has no parameter 'efect'", "'effect'?"),
    (lambda any: any(tool)(requires_approval=True), "'requires_approval'", "human_approval=…"),
    (lambda any: any(Limits)(turn=3), "Limits has no field 'turn'", "Did you mean 'turns'?"),
    (lambda any: any(Limits)(5), "Limits takes its fields by name", "Limits(turns=…)"),
    (lambda any: any(ModelSettings)(temprature=1), "'temprature'", "'temperature'?"),
    (lambda any: any(Policy)(rule=()), "Policy has no field 'rule'", "Did you mean 'rules'?"),
    (lambda any: any(Capabilities)(folders=1), "'folders'", "Known: host, introspect, workspaces"),
    (lambda any: any(Limits)().replace(turn=3), "Limits has no field 'turn'", "'turns'?"),
    (lambda any: any(Image).from_path("x", y=1), "Image.from_path has no parameter 'y'", "path"),
    (lambda any: any(Image).from_bytes(b"x", typ="y"), "Image.from_bytes has", "media_type"),
    (lambda any: any(Audio)("x.wav"), "Audio takes its fields by name", "Audio.from_path(path)"),
    (lambda any: any(File)(path="x"), "File has no field 'path'", "File.from_path(path)"),
    (lambda any: any(ScriptedProvider)([], foo=1), "ScriptedProvider has", "name, script"),
    (lambda any: any(ScriptedProvider)([], "x"), "takes 1 of its arguments by position", "name"),
    (lambda any: any(BuildOptions)(turn=1), "BuildOptions has no field 'turn'", "'turns'?"),
    (lambda any: any(BuildOptions)(parallel=0), "/parallel", ""),
    (lambda any: any(Brief)("x", valid="y"), "Brief has no field 'valid'", "'validation'?"),
    (lambda any: any(RunContext)(depz=1, run_id=""), "RunContext has no field 'depz'", "'deps'?"),
    (lambda any: any(RunContext)(*range(9)), "takes at most 7 values by position", "Known: deps"),
    (lambda any: any(Answer)(approve=True), "Answer has no field 'approve'", "'approved'?"),
    (lambda any: any(FollowUp)(prompt="x"), "FollowUp has no field 'prompt'", "Known: "),
    (lambda any: any(Receipt)(stat="ok"), "Receipt has no field 'stat'", "'status'?"),
    (lambda any: any(ToolChoice)(mod="auto"), "ToolChoice has no field 'mod'", "'mode'?"),
    (lambda any: any(ForkChanges)(step="x"), "ForkChanges has no parameter 'step'", "'steer'?"),
    (lambda any: any(load_config)(modl="x"), "load_config has no", "Did you mean 'model'?"),
]


def untyped(value: Any) -> Any:
    """Return a value that type checkers do not follow: a program that nobody checks."""
    return value


@pytest.mark.parametrize(("wrong", "said", "way"), WRONG)
def test_what_a_call_does_not_take_is_refused_with_the_right_way(
    wrong: Wrong, said: str, way: str
) -> None:
    with pytest.raises(AuthorError) as raised:
        wrong(untyped)
    assert not isinstance(raised.value, BugError)
    assert said in raised.value.message
    assert way in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("name", "way"),
    [("tols", "'tools'?"), ("home", "World.open(load_config(home=…))"), ("seed", "Agent(…, sett")],
)
async def test_a_world_opens_with_what_it_takes_only(name: str, way: str) -> None:
    with pytest.raises(AuthorError, match=r"World\.open has no parameter") as raised:
        await _open(**{name: "x"})
    assert way in (raised.value.hint or "")


async def test_a_run_in_a_world_refuses_the_same() -> None:
    async with World.in_memory() as world:
        with pytest.raises(AuthorError, match=r"Archive\.search has no parameter 'limt'") as raised:
            await untyped(world).archive.search("tea", limt=3)
        assert raised.value.hint == "Did you mean 'limit'?"
        with pytest.raises(AuthorError, match=r"Guarded\.call has no parameter 'callid'"):
            async with world.guard(double, key="k") as guarded:
                await untyped(guarded).call("double", {"number": 1}, callid="c")
        with pytest.raises(AuthorError, match=r"World\.run has no parameter 'model'"):
            await untyped(world).run("x", model="m")
        with pytest.raises(AuthorError, match=r"Agent\.stream has no parameter 'observer'"):
            async with untyped(agent()).stream("x", observer=1):
                pass
        run = await world.run("x", agent())
        assert run.text == "Hi."
        with pytest.raises(AuthorError, match=r"Run\.export has no parameter 'fmt'"):
            untyped(run).export(fmt="pdf")


@pytest.mark.parametrize("meant", sorted(set(HABITS.values())))
def test_every_habit_leads_to_a_name_of_ours(meant: str) -> None:
    known = [*AgentFields.__annotations__, *RUN, *WorldParts.__annotations__]
    parts = [name for kind in PARTS.values() for name in kind.field_names()]
    assert meant in [*known, *parts]
    assert place_of(meant, frozenset())


def test_a_name_of_ours_is_no_habit() -> None:
    names = {*AgentFields.__annotations__, *RUN, *WorldParts.__annotations__}
    assert not names & (HABITS.keys() | ADVICE.keys())


@pytest.mark.parametrize("method", ["run", "stream", "follow_up", "resume", "approve", "fork"])
def test_the_blocking_methods_name_the_same_arguments(method: str) -> None:
    waited = {"approve": "Answer", "follow_up": "FollowUp"}.get(method, method.title())
    signature = inspect.signature(getattr(Agent, method)).parameters.values()
    named = {p.name for p in signature if p.kind is p.KEYWORD_ONLY}
    declared = getattr(public_types, f"{waited}Arguments")
    assert declared.__annotations__.keys() == named
    assert inspect.iscoroutinefunction(Agent.run) and inspect.isroutine(Agent.run)
