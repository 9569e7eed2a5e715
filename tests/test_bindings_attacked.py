"""Bound figures where runs are forked, resumed, handed over and compacted, and of odd results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from artificer import Agent, ForkChanges, Limits, OperatorError, ScriptedProvider, World, tool
from artificer.core import events as ev
from artificer.core.record import EventLine
from artificer.providers.scripted import call, reply, say
from artificer.runs import Run
from artificer.values.model import Usage

TEXT = "{{artifact:chart:c}}"


@tool
def disks(size: int) -> dict[str, Any]:
    """Say how much each folder holds."""
    return {"items": [{"name": "b", "bytes": size}, {"name": "a", "bytes": 1}]}


def chart(label: str, name: str = "c") -> Any:
    data = {"call": label, "rows": "/items", "label": "name", "values": ["bytes"]}
    return reply(call("create_bar_chart", id=name, title="T", data=data))


def agent(*script: Any, tools: Any = (disks,), **options: Any) -> Agent:
    return Agent(ScriptedProvider(list(script)), kind="deliver", tools=list(tools), **options)


def plotted(run: Run[Any], name: str = "c") -> Any:
    payload: Any = run.artifacts[f"chart:{name}"].payload
    return payload["series"][0]["values"]


async def check(world: World, *runs: Run[Any]) -> None:
    """Replay each of the runs and verify them all."""
    for run in runs:
        found = await world.archive.replay(run.id)
        assert (found.divergence, found.drift) == (None, [])
    assert (await world.archive.verify()).problems == []


async def returns(world: World, run: Run[Any]) -> list[int]:
    lines = (await world.archive.history(run.id)).lines
    return [
        line.seq
        for line in lines
        if isinstance(line, EventLine) and isinstance(line.event, ev.ToolReturned)
    ]


@pytest.mark.req("binding-forked")
class TestForks:
    async def origin(self, world: World) -> tuple[Run[Any], list[int]]:
        script = [reply(call("disks", size=n)) for n in (2, 4)]
        run = await world.run("x", agent(*script, chart("disks#2"), say(TEXT)))
        assert plotted(run) == [4, 1]
        return run, await returns(world, run)

    async def test_a_changed_result_has_no_data_and_later_calls_go_on_counting(self) -> None:
        async with World.in_memory() as world:
            run, (first, *_) = await self.origin(world)
            script = [chart("disks#1"), reply(call("disks", size=6)), chart("disks#2"), say(TEXT)]
            changes = ForkChanges(edits={first: '{"items": []}'})
            fork = await world.fork(run.id, agent(*script), changes)
            assert [(s.label, s.digest is None) for s in fork.state.sources] == [
                ("disks#1", True),
                ("disks#2", False),
            ]
            assert plotted(fork) == [6, 1]
            await check(world, run, fork)

    async def test_no_artifact_is_taken_over_without_its_data(self) -> None:
        async with World.in_memory() as world:
            run, (first, second, made) = await self.origin(world)
            edits = {second: '{"items": []}'}
            with pytest.raises(OperatorError) as refused:
                await world.fork(run.id, agent(say(TEXT)), ForkChanges(edits=edits, at=made))
            assert "chart:c" in str(refused.value) and f"record {second}" in str(refused.value)
            assert "--at" in str(refused.value.hint)
            other = {first: '{"items": []}'}
            fork = await world.fork(run.id, agent(say(TEXT)), ForkChanges(edits=other, at=made))
            assert plotted(fork) == [4, 1]
            await check(world, run, fork)


@pytest.mark.req("binding-forked")
async def test_a_run_that_crashed_between_result_and_binding_keeps_its_labels() -> None:
    class CrashError(BaseException):
        pass

    seen: list[Any] = []

    def once(body: Any) -> Any:
        seen.append(body)
        if len(seen) > 1:
            raise CrashError
        return reply(call("disks", size=8))

    async with World.in_memory() as world:
        with pytest.raises(CrashError):
            await world.run(
                "x", Agent(ScriptedProvider(once), kind="deliver", tools=[disks]), run_id="r"
            )
        run = await world.resume("r", agent(chart("disks#1"), say(TEXT)))
        assert plotted(run) == [8, 1]
        await check(world, run)


@pytest.mark.req("binding-forked")
async def test_labels_outlive_what_the_model_still_sees() -> None:
    @tool
    def pads(size: int) -> dict[str, Any]:
        """Return what a model soon has no room for."""
        return {"items": [{"name": "b", "bytes": size}], "rest": f"{size}-" * 4_000}

    script: list[Any] = [reply(call("pads", size=n)) for n in range(11, 20)]
    script += [chart("pads#1"), say(TEXT)]
    systems: list[str] = []

    def answer(body: Any) -> Any:
        systems.append(body["system"])
        is_summary = systems[-1] != systems[0]
        made = say("Summary.") if is_summary else script.pop(0)
        return made.replace(usage=Usage(input_tokens=len(json.dumps(body)) // 4, output_tokens=9))

    async with World.in_memory() as world:
        limits = Limits(context_tokens=20_000)
        made = Agent(ScriptedProvider(answer), kind="deliver", tools=[pads], limits=limits)
        run = await world.run("x", made)
        assert len(set(systems)) == 2, "the context was compacted"
        assert plotted(run) == [11]
        await check(world, run)


@pytest.mark.req("binding-forked")
async def test_labels_of_a_child_are_not_those_of_its_parent() -> None:
    async with World.in_memory() as world:
        found = say('{"items": [{"name": "z", "bytes": 5}]}')
        child = Agent(ScriptedProvider([reply(call("disks", size=3)), found]), tools=[disks])
        script = [
            reply(call("disks", size=2)),
            reply(call("helper", prompt="Go")),
            chart("disks#2", "no"),
            chart("helper#1"),
            say(TEXT),
        ]
        run = await world.run("x", agent(*script, tools=[disks, child.as_tool("helper", "Helps.")]))
        assert [s.label for s in run.state.sources] == ["disks#1", "helper#1"]
        assert list(run.artifacts) == ["c"]
        assert plotted(run) == [5]
        await check(world, run, *[await world.get(name) for name in run.children])


@pytest.mark.req("binding-forked")
async def test_figures_that_are_handed_over_stay_what_their_run_bound() -> None:
    async with World.in_memory() as world:
        billing = agent(reply(call("disks", size=7)), chart("disks#1"), say(TEXT))
        to = billing.as_handoff("billing", "Money.")
        script = [reply(call("disks", size=2)), reply(call("transfer_to_billing", prompt="Go"))]
        run = await world.run("x", agent(*script, tools=[disks, to]))
        assert plotted(run) == [7, 1]
        (child,) = [await world.get(name) for name in run.children]
        payload: Any = run.artifacts["chart:c"].payload
        assert payload["data"]["digest"] == child.state.sources[0].digest
        assert payload["data"]["digest"] != run.state.sources[0].digest
        await check(world, run, child)


ODD: dict[str, tuple[Any, str]] = {
    "formulas": ([{"name": "=1+1", "bytes": 1}], "'=1+1"),
    "two ways to write an e": ([{"name": "e\u0301", "bytes": 1}, {"name": "é", "bytes": 2}], "é"),
    "exponents": ([{"name": "a", "bytes": 1e300}, {"name": "b", "bytes": 1e-300}], "1e+300"),
    "a hundred digits": ([{"name": "a", "bytes": 10**99}], "a"),
    "an order of their own": ([{"z": 1, "name": "a", "bytes": 2}], '"z","name","bytes"'),
    "names with slashes": ([{"a/b~c": 1, "d": 2}], '"a/b~c","d"'),
}


@pytest.mark.req("binding-odd")
@pytest.mark.parametrize("name", ODD)
async def test_odd_results_are_shown_as_they_are(name: str) -> None:
    items, shown = ODD[name]

    @tool
    def odd() -> dict[str, Any]:
        """Return something odd."""
        return {"items": items}

    table = {"kind": "table", "id": "t", "data": {"call": "odd#1", "rows": "/items"}}
    script = [reply(call("odd")), reply(call("create_table", table=table))]
    async with World.in_memory() as world:
        run = await world.run("x", agent(*script, say("{{artifact:table:t}}"), tools=[odd]))
        assert run.status == "completed"
        assert shown in run.artifacts["t"].csv()
        await check(world, run)


@pytest.mark.req("binding-odd")
@pytest.mark.parametrize("value", [float("nan"), json.loads("[" * 70 + "]" * 70)])
async def test_what_is_not_exact_cannot_be_bound(value: Any) -> None:
    @tool
    def odd() -> dict[str, Any]:
        """Return something odd."""
        return {"items": [{"name": "a", "bytes": value}]}

    script = [reply(call("odd")), chart("odd#1"), say("Nothing.")]
    async with World.in_memory() as world:
        run = await world.run(
            "x", Agent(ScriptedProvider(script), tools=[odd], only=["odd", "create_bar_chart"])
        )
        assert run.state.sources[0].digest is None
        assert not run.artifacts
        await check(world, run)


@pytest.mark.req("binding-odd")
async def test_a_hundred_thousand_rows_are_worked_on() -> None:
    rows = [{"name": f"row {n}", "bytes": n * 7 % 1000} for n in range(100_000)]

    @tool
    def many() -> dict[str, Any]:
        """Return many rows."""
        return {"items": rows}

    data = {"call": "many#1", "rows": "/items", "label": "name", "values": ["bytes"]}
    data |= {"top": {"n": 2, "by": "bytes", "other": "Rest"}}
    drawn = reply(call("create_bar_chart", id="c", title="T", data=data))
    async with World.in_memory() as world:
        run = await world.run("x", agent(reply(call("many")), drawn, say(TEXT), tools=[many]))
        assert plotted(run) == [999, 999, sum(row["bytes"] for row in rows) - 1998]  # type: ignore[misc]
        await check(world, run)
