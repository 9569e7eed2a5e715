"""A whole world that an older release wrote opens, verifies, replays and resumes."""

from __future__ import annotations

import json
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from write_world import COMMIT, TOOLS, config_at

from artificer.agent import Agent
from artificer.core.events import PromptReceived, ToolReturned
from artificer.core.record import EventLine, decode, encode
from artificer.core.rules import RULES
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.core.transitions import reduce
from artificer.errors import OperatorError
from artificer.ports import Head, Record
from artificer.providers.scripted import ScriptedProvider, reply, say
from artificer.runs import Run
from artificer.runtime.load import follow
from artificer.testing.rig import Rig
from artificer.values.canon import digest_of
from artificer.values.model import ModelReply
from artificer.world import World

FILE = Path(__file__).with_name("0.1.0.tar.gz")
REPORT = "# Again\n\n{{artifact:list:l}}\n\n{{artifact:chart:c}}"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    with tarfile.open(FILE) as tar:
        tar.extractall(tmp_path, filter="data")
    async with World.open(config_at(tmp_path)) as opened:
        yield opened


async def resume(world: World, run: str, *answers: ModelReply) -> tuple[Run, list[str]]:
    """The run after its resumption, and what its model was sent."""
    provider = ScriptedProvider(answers)
    resumed = await world.resume(run, Agent(model=provider, tools=TOOLS, kind="chat"))
    return resumed, [json.dumps(request) for request in provider.requests]


@pytest.mark.req("world-of-a-newer-release")
async def test_a_run_of_a_newer_release_is_not_taken_for_a_damaged_one() -> None:
    rig = Rig()
    state = await rig.run([say("Done.")])
    newer = state.run_spec.replace(rules=RULES + 1)
    with pytest.raises(OperatorError, match="knows up to"):
        reduce(RunState(), PromptReceived(at=1, spec=newer, release="9.9.9"))
    records = _rewritten(await rig.journal.read("run"), newer)
    with pytest.raises(OperatorError, match="knows up to"):
        follow("run", RunState(), {}, Head(), records, rig.blobs)


def _rewritten(records: list[Record], spec: RunSpec) -> list[Record]:
    """The first record, as a release that knows the rules of the spec writes it."""
    line = decode(records[0].body, lambda digest: b"")
    assert isinstance(line, EventLine) and isinstance(line.event, PromptReceived)
    event = line.event.replace(spec=spec)
    body, _ = encode(line.replace(event=event))
    return [Record(run="run", seq=1, hash=digest_of(body), body=body)]


@pytest.mark.req("world-of-an-older-release")
class TestAWorldOf010:
    async def test_opens_and_verifies(self, world: World) -> None:
        assert len(await world.archive.runs()) == 15
        assert (await world.archive.verify()).problems == []
        check = await world.maintenance.fsck()
        assert check.sound and check.orphans == []
        assert world.archive.workspaces.names() == ["notes"]
        assert "Bicycles" in (await world.get("report")).html

    async def test_replays(self, world: World) -> None:
        for run in await world.archive.runs():
            if run != "pruned":
                assert (await world.archive.replay(run)).identical, run

    async def test_resumes_what_was_stalled(self, world: World) -> None:
        for name in ("stalled", "long"):
            run, _ = await resume(world, name, say("It is **42**."))
            assert (run.status, run.text) == ("completed", "It is **42**."), name
        run, _ = await resume(world, "report-stalled", say(REPORT))
        assert (run.status, len(run.state.artifacts)) == ("completed", 2)
        await self._holds(world)

    async def test_resumes_what_was_killed(self, world: World) -> None:
        once, _ = await resume(world, "killed-pay", say("Nobody knows."))
        assert [doubt.tool for doubt in once.doubts] == ["pay"]
        again, sent = await resume(world, "killed-set_price", say("Set."))
        assert again.status == "completed"
        # that release wrote down no owner, so it may be alive, with its call under way
        assert [doubt.tool for doubt in again.doubts] == ["set_price"]
        assert "not known to be dead" in sent[0]
        await self._holds(world)

    async def test_takes_the_signals_that_wait(self, world: World) -> None:
        steered, sent = await resume(world, "steered", say("Forty-two."))
        assert steered.status == "completed" and "In words." in sent[0]
        more, sent = await resume(world, "asked-more", say("Two."))
        assert more.text == "Two." and "And two?" in sent[0]
        paid, sent = await resume(world, "approved", say("Paid."))
        assert paid.status == "completed" and "paid 7" in sent[0]
        asked, _ = await resume(world, "waiting")
        assert (asked.status, len(asked.questions)) == ("waiting", 1)
        await self._holds(world)

    async def test_goes_on_in_a_workspace(self, world: World) -> None:
        run, _ = await resume(world, "notes-stalled", reply(COMMIT), say("Noted."))
        events = [
            getattr(line, "event", None) for line in (await world.archive.history(run.id)).lines
        ]
        returned = [json.loads(e.content) for e in events if isinstance(e, ToolReturned)]
        assert returned[-1]["version"] == 3
        await self._holds(world)

    async def _holds(self, world: World) -> None:
        assert (await world.archive.verify()).problems == []
        await self.test_replays(world)
