"""Numbers and texts of any kind, passed to the public door: used, or refused by name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import artificer
from artificer.agent import Agent
from artificer.config import Config
from artificer.contracts.model_settings import ModelSettings
from artificer.core.spec import Limits
from artificer.errors import ArtificerError, AuthorError, BugError
from artificer.ports import Image
from artificer.providers.scripted import ScriptedProvider, say
from artificer.world import World

pytestmark = pytest.mark.req("door-hostile-arguments")

NUMBERS = [-1, 0, 1, 2**31, 2**63, -(2**63) - 1, 10**400, float("nan"), float("inf"), True]
TEXTS = ["", "\ud800", "a\0b", "../../x", "last", "%s';--", "x" * 70_000, "é\n"]


def agent(**fields: Any) -> Agent[Any]:
    """An agent that answers at once."""
    return Agent(**{"model": ScriptedProvider(lambda _: say("Hi.")), "kind": "chat", **fields})


async def _first(events: AsyncIterator[Any]) -> None:
    async for _ in events:
        return


Call = Callable[..., Awaitable[Any]]

NUMBERED: dict[str, Call] = {
    "limit": lambda world, value: world.archive.list_runs(value),
    "since": lambda world, value: world.archive.list_runs(since=value),
    "until": lambda world, value: world.archive.list_runs(until=value),
    "hits": lambda world, value: world.archive.search("hello", value),
    "recorded": lambda world, value: world.archive.search("hello", since=value),
    "newest": lambda world, value: world.archive.summaries(value),
    "turns": lambda world, value: world.run("x", agent(limits=Limits(turns=value))),
    "cost": lambda world, value: world.run("x", agent(limits=Limits(cost_micros=value))),
    "temperature": lambda world, value: world.run(
        "x", agent(settings=ModelSettings(temperature=value))
    ),
    "seed": lambda world, value: world.run("x", agent(settings=ModelSettings(seed=value))),
    "spent": lambda world, value: world.maintenance.correct_budget(tokens=value),
}
TEXTUAL: dict[str, Call] = {
    "day": lambda world, value: world.maintenance.correct_budget(micros=1, day=value),
    "reason": lambda world, value: world.maintenance.correct_budget(micros=1, reason=value),
    "before": lambda world, value: world.archive.list_runs(before=value),
    "text": lambda world, value: world.archive.list_runs(text=value),
    "status": lambda world, value: world.archive.list_runs(status=value),
    "model": lambda world, value: world.archive.list_runs(model=value),
    "parent": lambda world, value: world.archive.list_runs(parent=value),
    "older": lambda world, value: world.archive.summaries(before=value),
    "words": lambda world, value: world.archive.search(value),
    "kind": lambda world, value: world.archive.search("hello", kind=value),
    "run": lambda world, value: world.get(value),
    "found": lambda world, value: world.archive.find(value),
    "exported": lambda world, value: world.archive.export_run(value),
    "followed": lambda world, value: _first(world.events(value)),
    "resumed": lambda world, value: world.resume(value),
    "cancelled": lambda world, value: world.cancel("aa-1", value),
    "prompt": lambda world, value: world.run(value, agent()),
    "new id": lambda world, value: world.run("x", agent(), run_id=value),
    "fork": lambda world, value: world.fork("aa-1", agent(), new_id=value),
    "instructions": lambda world, value: world.run("x", agent(instructions=value)),
    "chosen": lambda world, value: world.run("x", agent(model=value)),
    "output": lambda world, value: world.run("x", agent(output=value)),
}


async def attempt(world: World, call: Call, value: object) -> None:
    """Make a call: whatever else than an error of ours it raises breaks the test."""
    try:
        await call(world, value)
    except BugError:
        raise
    except ArtificerError as error:
        assert error.message


def attack(home: Path, attempts: list[tuple[str, object]]) -> None:
    """Make calls in a world of its own, and look at what it has made."""

    async def make() -> None:
        async with World.open(Config(home=home, project="p")) as world:
            await world.run("Hello.", agent(), run_id="aa-1")
            for name, value in attempts:
                await attempt(world, (NUMBERED | TEXTUAL)[name], value)

    asyncio.run(make())
    assert [entry.name for entry in home.parent.iterdir()] == ["home"]
    assert [entry.name for entry in home.iterdir()] == ["p"]


def test_every_argument_takes_or_refuses_the_usual_attacks(tmp_path: Path) -> None:
    numbers = [(name, value) for name in NUMBERED for value in NUMBERS]
    attack(tmp_path / "home", numbers + [(name, value) for name in TEXTUAL for value in TEXTS])


WRONG = [None, 5, 1.5, True, "x", "a\0b", b"x", [], {}, object()]
TYPED: dict[str, Callable[[World, artificer.Run, Any], Any]] = {
    "got": lambda world, run, value: world.archive.get(value),
    "found": lambda world, run, value: world.archive.find(value),
    "verified": lambda world, run, value: world.archive.verify(value),
    "followed": lambda world, run, value: _first(world.events(value)),
    "after": lambda world, run, value: _first(world.events("aa-1", after=value)),
    "agent": lambda world, run, value: world.run("x", value),
    "resuming": lambda world, run, value: world.resume("aa-1", value),
    "observer": lambda world, run, value: world.run("x", agent(), observer=value),
    "changes": lambda world, run, value: world.fork("aa-1", agent(), value),
    "project": lambda world, run, value: world.build("x", agent(), project=value),
    "decider": lambda world, run, value: world.build("x", agent(), decider=value),
    "world": lambda world, run, value: agent().run("x", world=value or 0),
    "config": lambda world, run, value: World.in_memory(value),
    "folder": lambda world, run, value: artificer.load_config(value),
    "picture": lambda world, run, value: Image.from_path(value),
    "saved": lambda world, run, value: run.save(value),
}


@pytest.mark.parametrize("name", TYPED)
async def test_a_value_of_a_wrong_type_is_used_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with World.in_memory() as world:
        run = await world.run("Hello.", agent(kind="deliver"), run_id="aa-1")
        for value in WRONG:
            try:
                made = TYPED[name](world, run, value)
                if isinstance(made, Awaitable):
                    await made
            except BugError:
                raise
            except ArtificerError as error:
                assert error.message


CALLS = st.tuples(st.sampled_from([*NUMBERED]), st.integers() | st.floats()) | (
    st.tuples(st.sampled_from([*TEXTUAL]), st.text(max_size=8))
)


@settings(max_examples=10)
@given(attempts=st.lists(CALLS, max_size=20))
def test_a_strange_value_is_used_or_refused_by_name(
    attempts: list[tuple[str, object]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    attack(tmp_path_factory.mktemp("door") / "home", attempts)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda world: world.archive.list_runs(before="\ud800"), "before holds half a character"),
        (lambda world: world.archive.list_runs(since=2**63), "since is 9223372036854775808, not"),
        (lambda world: world.archive.list_runs(0), "limit is 0, not a whole number from 1"),
        (lambda world: world.run("x", agent(), run_id="../x"), "'../x' cannot be the id of a run"),
        (lambda world: world.submit("x", agent(), run_id="a b"), "'a b' cannot be the id of a run"),
        (lambda world: world.submit("x", agent(), run_id=""), "'' cannot be the id of a run"),
        (
            lambda world: world.maintenance.correct_budget(tokens=1, day="2026-1-1"),
            "day is '2026-1-1', not a date",
        ),
        (lambda world: world.run("x", agent(output="int")), "'int', a text and not a type"),
        (lambda world: world.run("x", agent(model=5)), "model of an agent is 5, not provider"),
        (lambda world: world.run("x", agent(), history=5), "5 is not a conversation to continue"),
        (lambda world: world.run("x", "local/smollm2"), "agent is 'local/smollm2', not an Agent"),
        (lambda world: world.run("x", agent(), observer=print), "not an Observer"),
        (lambda world: world.archive.find(5), "word is 5, not a text"),
        (lambda world: world.fork("aa-1", agent(), 3), "changes is 3, not a ForkChanges"),
        (lambda world: world.build("x", agent(), project=5), "project is 5, not a path"),
        (lambda world: world.send("aa-1", "yes"), "'yes' is not a signal"),
        (lambda world: world.import_run("run.json"), "'run.json' is not an exported run"),
    ],
)
async def test_a_mistake_is_named_with_what_to_do(wrong: Call, said: str) -> None:
    async with World.in_memory() as world:
        await world.run("Hello.", agent(), run_id="aa-1")
        with pytest.raises(AuthorError) as raised:
            await wrong(world)
    assert said in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize("timeout", [float("nan"), float("inf"), 10**400, "60", 0, -1])
def test_a_time_that_is_none_is_refused(timeout: Any) -> None:
    with pytest.raises(AuthorError, match=r"a number of seconds|the limit is|the least is"):
        agent().as_tool("helper", "Helps.", timeout=timeout)
    with pytest.raises(AuthorError, match="has an unusable timeout"):

        @artificer.tool(effect="pure", timeout=timeout)
        def late() -> int:
            """Late."""
            return 1


def test_a_text_is_no_image() -> None:
    wrong: Any = "cat.png"
    with pytest.raises(AuthorError, match="not of bytes"):
        Image.from_bytes(wrong)
