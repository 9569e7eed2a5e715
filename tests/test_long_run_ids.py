"""The ids of runs below runs: every one that can begin can be exported and imported."""

from __future__ import annotations

import pytest

from artificer import Agent, OperatorError, World
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.recordings.export import export
from artificer.testing.rig import Rig
from artificer.values.arguments import MAX_RUN_ID
from artificer.wiring.recordings import rerun_recording

pytestmark = pytest.mark.req("run-ids")


def chain(*names: str) -> Agent:
    """An agent that calls the first of the names, which calls the second, and so on."""
    agent = Agent(ScriptedProvider([say("The end.")]), kind="chat")
    for name in reversed(names):
        script = ScriptedProvider([reply(call(name, prompt="Go on.")), say("Done.")])
        agent = Agent(script, kind="chat", tools=[agent.as_tool(name, "Go on.")])
    return agent


async def carried(world: World) -> list[str]:
    """Export every run of a world, import it into another one, run it again; return the ids."""
    runs = await world.archive.runs()
    async with World.in_memory() as other:
        for run in runs:
            data = await world.archive.export_run(run)
            assert await other.import_run(data) == run
            assert await rerun_recording(data, other.config) == []
    return runs


async def test_a_run_with_the_longest_names_two_levels_down_is_carried_elsewhere() -> None:
    async with World.in_memory() as world:
        run = await world.run("Go.", chain("a" * 53, "b" * 58))
        runs = await carried(world)
    assert (run.status, len(runs)) == ("completed", 3)
    assert max(map(len, runs)) > 128


@pytest.mark.parametrize(("length", "begins"), [(58, True), (59, False)])
async def test_what_would_get_a_longer_id_does_not_begin(length: int, begins: bool) -> None:
    async with World.in_memory() as world:
        run = await world.run("Go.", chain("n" * length), run_id="r" * 128)
        runs = await carried(world)
    assert run.text == "Done.", "the caller's model reads why, and goes on"
    result = run.state.history[2].blocks[0].content  # type: ignore[union-attr]
    if begins:
        assert sorted(map(len, runs)) == [128, MAX_RUN_ID] and result == "The end."
    else:
        assert runs == [run.id]
        assert f"would have {MAX_RUN_ID + 1} characters, and {MAX_RUN_ID} are the limit" in result


async def test_agents_call_one_another_as_deep_as_the_limit_allows() -> None:
    async with World.in_memory() as world:
        run = await world.run("Go.", chain(*["next"] * 20), run_id="r")
        runs = await carried(world)
        levels = (MAX_RUN_ID - 1) // len(".next-0123456789ab")
        assert sorted(map(len, runs)) == [1 + 18 * level for level in range(levels + 1)]
        deepest = await world.get(max(runs, key=len))
    assert (run.status, deepest.status) == ("completed", "completed")
    assert "are the limit" in str(deepest.state.history[2].blocks[0])


@pytest.mark.parametrize("run", ["r" * (MAX_RUN_ID + 1), "my run"])
async def test_an_id_of_an_older_release_that_no_import_reads_is_not_exported(run: str) -> None:
    rig = Rig()
    await rig.engine(ScriptedProvider([say("Hello.")])).start(run, rig.spec())
    with pytest.raises(OperatorError, match="names no file: no release would read it"):
        await export(rig.journal, rig.blobs, run)
