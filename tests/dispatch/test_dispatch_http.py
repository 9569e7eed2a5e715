"""The runs of agents that a run calls, with workers that only have HTTP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE

import pytest
import pytest_asyncio
from children_suite import NAME, ChildrenSuite, boss, children_of, results, sound, stands
from dispatched_family import NAME as FAMILY
from dispatched_family import family
from worker_kit import Elsewhere, ServedJobs

import preloaded
from artificer import Agent, Cancel, Config, Limits, ScriptedProvider, World
from artificer.dispatch.over_http import HttpWorker
from artificer.providers.scripted import say
from artificer.storage.remote.client import ApiClient
from artificer.storage.remote.serving import LeaseTimes
from artificer.storage.remote.storage import RemoteStorage
from artificer.values.model import ModelReply, Usage
from killed_family import NAMES
from sampling import sample

pytestmark = [pytest.mark.req("http-worker-children"), pytest.mark.xdist_group("http-worker")]

TIMES = LeaseTimes(lease_s=600, wait_s=1, beat_s=0.1)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedJobs]:
    found = ServedJobs(tmp_path_factory.mktemp("tokens"))
    yield found
    found.close()


class HttpPlace:
    """A world that a studio serves."""

    def __init__(self, served: ServedJobs, home: Path) -> None:
        self._served, self._home = served, home
        self.world = Elsewhere(served, served.serve(home=home))

    @asynccontextmanager
    async def working(self, agent: Agent, slots: int = 1) -> AsyncIterator[object]:
        """A worker of the world."""
        storage = RemoteStorage(ApiClient(self._served.url, self._served.token()), wait_s=1)
        async with World.open(Config(home=self._home / "worker"), storage) as world:
            task = asyncio.create_task(
                HttpWorker(world, dict.fromkeys((NAME, FAMILY), agent), TIMES).run(slots, 0)
            )
            try:
                yield task
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def cancel(self, run: str, reason: str) -> None:
        """End a run that workers execute, as `artificer cancel` does."""
        await self.world.send(run, Cancel(reason=reason))

    def lapse(self) -> None:
        """Let all leases end now: their workers were killed."""
        with self._served.jobs.queue._file.changing() as db:
            self._served.jobs.queue._lapse(db, 1 << 60)
        self._served.jobs.changed.set()


class TestChildrenOverHttp(ChildrenSuite):
    @pytest_asyncio.fixture
    async def place(self, served: ServedJobs, tmp_path: Path) -> HttpPlace:
        return HttpPlace(served, tmp_path)


async def test_children_over_http_share_one_budget(served: ServedJobs, tmp_path: Path) -> None:
    """The worker of a child finds the limits above it: what two have spent, the third has not."""

    async def answer(body: object) -> ModelReply:
        return say("Child.").replace(usage=Usage(input_tokens=20, output_tokens=280))

    small = Limits(max_tokens=300)
    child = Agent(ScriptedProvider(answer), kind="chat", instructions="", limits=small)
    agent = boss(3, child, limits=Limits(max_tokens=300, total_tokens=700))
    place, over = HttpPlace(served, tmp_path), ("completed", "truncated", "failed")
    async with place.working(agent):
        run = await place.world.submit("Go.", agent, name=NAME)
        children = await children_of(place.world, run, 3)
        found = [await stands(place.world, child, *over) for child in children]
        await stands(place.world, run, *over)
    assert sorted(str(each.reason) for each in found) == ["done", "done", "token_limit"]


SCRIPT = Path(__file__).parent / "http_family.py"

COMMITS = range(1, 17)
"""The commits of a worker that is not killed, about."""


async def test_what_a_killed_worker_leaves_is_brought_to_its_end(
    served: ServedJobs, tmp_path: Path
) -> None:
    """Each child begins once, and pays once; the caller reads what became of it."""
    for kill in sample(COMMITS, 3, purpose="http")[1:]:
        folder = tmp_path / f"{kill}"
        place, ledger = HttpPlace(served, folder), folder / "ledger"
        world, agent = place.world, family(folder / "ledger", "pays")
        ledger.touch()
        run = await world.submit("Pay.", agent, name=FAMILY, run_id="r")
        words = [str(SCRIPT), served.url, str(folder / "killed"), str(ledger), str(kill)]
        environment = os.environ | {"ARTIFICER_API_TOKEN": served.token()}
        process = await preloaded.start(*words, stderr=PIPE, env=environment)
        over = asyncio.create_task(stands(world, run, "completed"))
        ended = asyncio.create_task(process.communicate())
        await asyncio.wait((over, ended), return_when=asyncio.FIRST_COMPLETED)
        if not over.cancel():  # its commits are some more or fewer, as the children's ends come
            process.kill()
        _, said = await ended
        assert process.returncode == -9, said.decode()
        place.lapse()
        async with place.working(agent, slots=2):
            found = await stands(world, run, "completed")
        below = [await world.get(child.run) for child in await world.archive.children(run)]
        await sound(world)
        paid = ledger.read_text(encoding="utf-8").split()
        assert [child.status for child in below] == ["completed"] * 2
        assert results(found) == [("ok", f"{name} has it.") for name in NAMES]
        assert sorted(paid) == sorted(set(paid))
