"""A world of a program's own parts: its storage, its clock, its providers, its tools."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config
from artificer.contracts.capabilities import Capabilities, Grant
from artificer.core.policy import Policy, Rule
from artificer.core.record import EventLine
from artificer.core.signals import AnswerCall, FollowUp
from artificer.errors import AuthorError, ConfigError
from artificer.ports import Storage, StoragePlace
from artificer.providers.scripted import ScriptedProvider, ScriptedReply, call, reply
from artificer.runtime.fork import ForkChanges
from artificer.storage.memory.storage import MemoryStorage
from artificer.storage.sqlite.storage import SqliteStorage
from artificer.system.clock import SystemClock
from artificer.testing.rig import HandMade, SteppingClock
from artificer.world import World

LONG_AGO = 1_000_000_000_000
"""September 2001: no other clock of this machine says so."""


@tool(effect="pure")
async def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


class Mine(ScriptedProvider):
    """A provider of the program, with a name of its own."""

    name = "mine"

    def __init__(self, script: list[ScriptedReply]) -> None:
        super().__init__(script)
        self.closed = 0

    async def aclose(self) -> None:
        self.closed += 1


def at(folder: Path) -> Config:
    return Config(home=folder, project="p", durability="process")


def clock() -> SteppingClock:
    return SteppingClock(start=LONG_AGO)


def on_the_clock(moment: int) -> bool:
    return LONG_AGO < moment < LONG_AGO + 10_000


async def times(world: World, run: str) -> list[int]:
    """The times of all events of a run."""
    lines = (await world.archive.history(run)).lines
    return [line.event.at for line in lines if isinstance(line, EventLine)]


@pytest.mark.req("world-clock")
class TestClock:
    async def test_every_time_and_id_of_a_run_is_from_the_clock_of_the_world(self) -> None:
        async with World.in_memory(clock=clock()) as world:
            agent = Agent(
                ScriptedProvider([reply(call("double", number=21)), "42", "84", "Neither."]),
                kind="chat",
                tools=[double],
                policy=Policy(rules=(Rule(tool="double", decision="ask"),)),
            )
            run = await world.run("Double 21.", agent)
            assert run.id.startswith("run-10000000000")
            (question,) = run.questions
            await world.send(run.id, AnswerCall(call=question.digest, approved=True))
            await world.resume(run.id, agent)
            await world.send(run.id, FollowUp(text="And twice that?"))
            await world.resume(run.id, agent)
            forked = await world.fork(run.id, agent, ForkChanges(steer="Or not."))
            assert forked.id.startswith("run-10000000000") and forked.text == "Neither."
            for id in (run.id, forked.id):
                assert all(map(on_the_clock, await times(world, id)))
                assert (await world.archive.replay(id)).identical
            assert (await world.archive.budget()).day == "2001-09-09"
            assert (await world.archive.verify()).sound

    async def test_two_worlds_on_equal_clocks_name_equal_runs(self) -> None:
        ids = []
        for _ in range(2):
            async with World.in_memory(clock=clock()) as world:
                ids.append((await world.run("Hi.", Agent(ScriptedProvider(["Hi."])))).id)
        assert ids[0] == ids[1]

    async def test_versions_of_workspaces_and_signals_have_its_time(self, tmp_path: Path) -> None:
        files = [{"path": "a", "text": "1"}]
        write = call("workspace.write", workspace="notes", version=0, files=files)
        commit = call("workspace.commit", workspace="notes")
        agent = Agent(
            ScriptedProvider([reply(write), reply(commit), "Done."]),
            kind="chat",
            capabilities=Capabilities(workspaces=(Grant(names=("notes",)),)),
        )
        async with World.open(at(tmp_path), clock=clock()) as world:
            run = await world.run("Write.", agent)
            await world.send(run.id, FollowUp(text="Thanks."))
            assert all(on_the_clock(v.at) for v in world.archive.workspaces.log("notes"))
        with closing(sqlite3.connect(tmp_path / "p" / "journal.db")) as database:
            notes = [json.loads(body) for (body,) in database.execute("SELECT body FROM notes")]
        (posted,) = (note["at"] for note in notes if note["note"] == "signal_posted")
        assert on_the_clock(posted)

    @pytest.mark.parametrize("moment", [1.5e12, None, -1, 10**18, True])
    async def test_a_time_that_could_not_be_read_again_is_not_recorded(self, moment: Any) -> None:
        class Odd(SystemClock):
            def now(self) -> int:
                return cast("int", moment)

            def new_run_id(self) -> str:
                return "aa-1"

        async with World.in_memory(clock=Odd()) as world:
            with pytest.raises(AuthorError, match="The clock Odd says that it is"):
                await world.run("Go.", Agent(ScriptedProvider(["42"]), kind="chat"))
            assert await world.archive.runs() == []

    async def test_without_one_it_is_that_of_the_system(self) -> None:
        async with World.in_memory() as world:
            assert isinstance(world.clock, SystemClock)


@pytest.fixture(params=["memory", "sqlite"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """A storage that a program has made itself."""
    if request.param == "memory":
        return MemoryStorage()
    (tmp_path / "elsewhere").mkdir()
    made = SqliteStorage(StoragePlace(tmp_path / "elsewhere", durability="process"))
    await made.open()
    return made


class Kept:
    """A storage that stays open when a world closes, as one of a program's other parts would."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner
        self.closed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def aclose(self) -> None:
        self.closed += 1


@pytest.mark.req("world-storage")
class TestStorage:
    async def test_a_run_is_kept_there_and_goes_on_in_the_next_world(
        self, storage: Storage, tmp_path: Path
    ) -> None:
        kept: Any = Kept(storage)
        policy = Policy(rules=(Rule(tool="double", decision="ask"),))
        fields: Any = {"tools": [double], "kind": "chat", "policy": policy}
        async with World.open(at(tmp_path), kept, clock=clock()) as world:
            first = ScriptedProvider([reply(call("double", number=21))])
            waiting = await world.run("Double 21.", Agent(first, **fields))
            assert waiting.status == "waiting"
        assert kept.closed == 1
        async with World.open(at(tmp_path), kept, clock=clock()) as world:
            (question,) = (await world.get(waiting.id)).questions
            await world.send(waiting.id, AnswerCall(call=question.digest, approved=True))
            run = await world.resume(waiting.id, Agent(ScriptedProvider(["42"]), **fields))
            assert (run.status, run.text) == ("completed", "42")
            replayed = await world.archive.replay(run.id)
            assert (replayed.identical, replayed.requests) == (True, 2)
            assert (await world.archive.verify()).sound
        await storage.aclose()
        assert not (tmp_path / "p" / "journal.db").exists(), "nothing is kept in the project"

    async def test_what_is_no_storage_is_refused_before_anything_is_made(
        self, tmp_path: Path
    ) -> None:
        wrong: Any = "postgresql://me:hunter2@db/agents"
        with pytest.raises(AuthorError, match="the type str is not a storage") as refused:
            async with World.open(at(tmp_path), wrong):
                pass
        assert "setting" in (refused.value.hint or "") and "hunter2" not in str(refused.value)
        assert not (tmp_path / "p").exists()


class ClosedStorage(MemoryStorage):
    """Notes that it was closed."""

    closed = 0

    async def aclose(self) -> None:
        self.closed += 1


class Unclosable(Mine):
    """Fails when it is closed."""

    name = "unclosable"

    async def aclose(self) -> None:
        raise RuntimeError("It stays open.")


@pytest.mark.req("world-closed")
class TestClosing:
    async def test_a_world_that_cannot_be_opened_closes_its_storage(self, tmp_path: Path) -> None:
        storage = ClosedStorage()
        with pytest.raises(ConfigError, match="nonsense"):
            async with World.open(at(tmp_path).replace(secrets=("nonsense://x",)), storage):
                pass
        assert storage.closed == 1

    async def test_all_is_closed_even_if_a_provider_fails(self, tmp_path: Path) -> None:
        storage, providers = ClosedStorage(), [Mine([]), Unclosable([]), Mine([])]
        providers[2].name = "other"
        with pytest.raises(RuntimeError, match="stays open"):
            async with World.open(at(tmp_path), storage, providers=providers):
                pass
        assert [providers[0].closed, providers[2].closed, storage.closed] == [1, 1, 1]


@pytest.mark.req("world-providers")
class TestProviders:
    async def test_a_model_is_found_by_the_name_of_its_provider_also_after_a_crash(
        self, tmp_path: Path
    ) -> None:
        mine = Mine([reply(call("double", number=21))])
        policy = Policy(rules=(Rule(tool="double", decision="ask"),))
        fields: Any = {"tools": [double], "kind": "chat", "policy": policy}
        async with World.open(at(tmp_path), providers=[mine]) as world:
            waiting = await world.run("Double 21.", Agent("mine/large", **fields))
        assert mine.closed == 1
        async with World.open(at(tmp_path), providers=[Mine(["42"])]) as world:
            (question,) = (await world.get(waiting.id)).questions
            await world.send(waiting.id, AnswerCall(call=question.digest, approved=True))
            run = await world.resume(waiting.id, Agent(tools=[double]))
            assert run.text == "42"
            assert run.state.run_spec.full_names == ("mine/large",)
            replayed = await world.archive.replay(run.id)
            assert (replayed.identical, replayed.requests) == (True, 2)
            recording = await world.archive.export_run(run.id)
        async with World.in_memory(providers=[Mine([])]) as world:
            assert await world.import_run(recording) == run.id
        async with World.open(at(tmp_path)) as world:
            assert (await world.archive.replay(run.id)).requests == 0, "it is not known here"
            await world.send(run.id, FollowUp(text="And now?"))
            with pytest.raises(ConfigError, match="Unknown provider: 'mine'"):
                await world.resume(waiting.id, Agent(tools=[double]))

    async def test_it_comes_before_a_built_in_one(self) -> None:
        class Anthropic(ScriptedProvider):
            name = "anthropic"

        async with World.in_memory(providers=[Anthropic(["Hi."])]) as world:
            assert (await world.run("Hi.", Agent("anthropic/claude", kind="chat"))).text == "Hi."

    async def test_a_wrong_name_is_answered_with_the_right_one(self) -> None:
        async with World.in_memory(providers=[Mine([])]) as world:
            with pytest.raises(ConfigError) as refused:
                await world.run("Hi.", Agent("mein/large"))
            assert "Did you mean 'mine'?" in (refused.value.hint or "")
            with pytest.raises(ConfigError) as refused:
                await world.run("Hi.", Agent("nobody/large"))
        hint = str(refused.value.hint)
        assert "Known: mine, anthropic, " in hint
        assert "caller" not in hint and "scripted" not in hint

    @pytest.mark.parametrize(
        ("providers", "fault"),
        [
            (["anthropic"], "is not a provider"),
            (ScriptedProvider([]), "The providers of a world are a list"),
            (
                [ScriptedProvider([]), ScriptedProvider([])],
                "Two providers have the name 'scripted'",
            ),
        ],
    )
    def test_what_is_no_provider_is_refused(self, providers: Any, fault: str) -> None:
        with pytest.raises(AuthorError, match=fault):
            World.in_memory(providers=providers)

    def test_a_name_that_no_model_could_have_is_refused(self) -> None:
        class Slash(ScriptedProvider):
            name = "a/b"

        with pytest.raises(AuthorError, match="'a/b' cannot be the name"):
            World.in_memory(providers=[Slash([])])


@pytest.mark.req("world-tools")
class TestTools:
    async def test_every_run_has_the_tools_of_its_world_and_finds_them_again(
        self, tmp_path: Path
    ) -> None:
        hand_made = HandMade()

        async def tripled(asked: Any) -> str:
            return str(3 * asked.arguments["number"])

        hand_made.add("triple", tripled)
        script = [reply(call("triple", number=7), call("double", number=4))]
        ask = Policy(rules=(Rule(tool="triple", decision="ask"),))
        async with World.open(at(tmp_path), tools=[hand_made, double]) as world:
            agent = Agent(ScriptedProvider(script), kind="chat", policy=ask)
            waiting = await world.run("Go.", agent)
        async with World.open(at(tmp_path), tools=[hand_made, double]) as world:
            (question,) = (await world.get(waiting.id)).questions
            await world.send(waiting.id, AnswerCall(call=question.digest, approved=True))
            run = await world.resume(waiting.id, Agent(ScriptedProvider(["21 and 8."])))
            assert run.text == "21 and 8."
            assert [made.arguments["number"] for made in hand_made.calls] == [7]

    async def test_a_run_without_them_goes_on_in_a_world_that_has_them(
        self, tmp_path: Path
    ) -> None:
        """One of them may have the name of a tool that the run brings itself."""
        policy = Policy(rules=(Rule(tool="double", decision="ask"),))
        first = Agent(
            ScriptedProvider([reply(call("double", number=2))]),
            kind="chat",
            tools=[double],
            policy=policy,
        )
        async with World.open(at(tmp_path)) as world:
            run = await world.run("Go.", first)
        other = HandMade()
        other.add("quadruple", lambda _: None)  # type: ignore[arg-type,return-value]
        async with World.open(at(tmp_path), tools=[other]) as world:
            (question,) = (await world.get(run.id)).questions
            await world.send(run.id, AnswerCall(call=question.digest, approved=True))
            done = await world.resume(run.id, Agent(ScriptedProvider(["4"]), tools=[double]))
            assert done.text == "4"

    def test_an_agent_would_be_a_tool_of_its_own_runs(self) -> None:
        tools: Any = [Agent("local/x").as_tool("helper", "Help.")]
        with pytest.raises(AuthorError, match="'helper' cannot be a tool of every run"):
            World.in_memory(tools=tools)

    @pytest.mark.parametrize("parts", [{"clock": 5}, {"tools": "tools"}, {"tools": [5]}])
    def test_what_is_no_part_is_refused(self, parts: Any) -> None:
        with pytest.raises(AuthorError):
            World.in_memory(**parts)
