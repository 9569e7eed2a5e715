"""Runs that workers execute over HTTP: what they leave when they end, die, or are cut off."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from http_support import Seen, answer, serving
from worker_kit import SETTINGS, ServedJobs

import preloaded
from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config, SharedLimits
from artificer.core.signals import Cancel
from artificer.dispatch.over_http import HttpWorker
from artificer.errors import ForbiddenError
from artificer.ports import Permit, SharedLimit
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.limits.permits import PermitKeeper
from artificer.storage.remote.client import ApiClient
from artificer.storage.remote.serving import JobServer, LeaseTimes, SegmentAnswer
from artificer.storage.remote.storage import RemoteStorage
from artificer.values.model import ModelFailure
from artificer.world import World, storage_of

pytestmark = [pytest.mark.req("http-worker-runs"), pytest.mark.xdist_group("http-worker")]

PATIENCE_S = 120

TIMES = LeaseTimes(lease_s=600, wait_s=1, beat_s=0.1)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedJobs]:
    found = ServedJobs(tmp_path_factory.mktemp("tokens"))
    yield found
    found.close()


async def eventually(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.to_thread(time.sleep, 0.02)


class Launcher:
    """An agent with a tool that happens once, and goes on until it is ended or let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.may_end = asyncio.Event()

    def agent(self, *answers: object, model: ScriptedProvider | None = None) -> Agent:
        """Return the agent, whose model gives these answers."""

        @tool(effect="once")
        async def launch(target: str) -> str:
            """Launch something."""
            self.begun.append(target)
            try:
                await self.may_end.wait()
            finally:
                self.ended.append(target)
            return target

        model = model or ScriptedProvider(list(answers))  # type: ignore[arg-type]
        return Agent(model, tools=[launch])


async def submitted(served: ServedJobs, world: World | None = None) -> str:
    """A run that is to be executed by a worker, of a fresh world."""
    gone = ModelFailure(code="unavailable", message="gone", attempts=1)
    world, agent = world or served.serve(), Launcher().agent(gone)
    run: str = served.run(world.run("Launch.", agent)).id
    served.run(served.jobs.submit(run, 3, 3))
    return run


@asynccontextmanager
async def working(
    served: ServedJobs,
    home: Path,
    agent: Agent,
    times: LeaseTimes = TIMES,
    *,
    url: str = "",
    opened: list[World] | None = None,
) -> AsyncIterator[asyncio.Task[None]]:
    """Let a worker of this process work."""
    storage = RemoteStorage(ApiClient(url or served.url, served.token()), wait_s=1)
    async with World.open(Config(home=home), storage) as world:
        if opened is not None:
            opened.append(world)

        async def execute(run: str, _: str) -> SegmentAnswer:
            found = await world.resume(run, agent)
            return SegmentAnswer("done" if found.state.status else "parked")

        task = asyncio.create_task(JobServer(storage, times).serve(execute, 2))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def state_of(served: ServedJobs, run: str) -> str:
    return served.jobs.queue.get(run).state


def standings(served: ServedJobs) -> list[tuple[str, str]]:
    return [(row.run, row.state) for row in served.jobs.queue.page(None, None, 10)]


def calls_of(served: ServedJobs, run: str) -> list[str]:
    """How the calls of a run ended."""
    return [
        event.event.status
        for event in served.run(_lines(served, run))
        if getattr(event, "event", None) is not None and event.event.type == "ToolReturned"
    ]


async def _lines(served: ServedJobs, run: str) -> list[object]:
    return list((await served.world.archive.history(run)).lines)


LAUNCH = reply(call("launch", target="moon"))


async def test_a_worker_executes_a_run_to_its_end(served: ServedJobs, tmp_path: Path) -> None:
    """Each record is on the server before what follows from it begins."""
    run, launcher = await submitted(served), Launcher()
    async with working(served, tmp_path, launcher.agent(LAUNCH, say("Launched."))):
        await eventually(lambda: launcher.begun)
        found = served.run(served.world.get(run))
        assert [one.status for one in found.state.calls] == [None]
        launcher.may_end.set()
        await eventually(lambda: state_of(served, run) == "done")
    over = served.run(served.world.get(run))
    assert (over.status, over.text) == ("completed", "Launched.")
    assert served.run(served.world.archive.replay(run)).identical


async def test_a_submitted_run_is_a_job_by_itself(served: ServedJobs, tmp_path: Path) -> None:
    """The studio finds it in the journal, when workers ask for jobs."""
    world, launcher = served.serve(), Launcher()
    launcher.may_end.set()
    agent = launcher.agent(LAUNCH, say("Launched."))
    run: str = served.run(world.submit("Launch.", agent, name="it:agent"))
    storage = RemoteStorage(ApiClient(served.url, served.token()), wait_s=1)
    async with World.open(Config(home=tmp_path), storage) as behind:
        task = asyncio.create_task(HttpWorker(behind, {"it:agent": agent}, TIMES).run(2, 0))
        await eventually(lambda: (run, "done") in standings(served))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert served.run(world.get(run)).text == "Launched."


async def test_a_run_that_no_worker_can_execute_becomes_a_dead_letter(
    served: ServedJobs, tmp_path: Path
) -> None:
    """It says why, and waits for a person."""
    world = served.serve()
    run: str = served.run(world.submit("Launch.", Launcher().agent(), name="it:agent"))
    served.run(served.jobs.submit(run, 3, 1))
    storage = RemoteStorage(ApiClient(served.url, served.token()), wait_s=1)
    async with World.open(Config(home=tmp_path), storage) as behind:
        task = asyncio.create_task(HttpWorker(behind, {}, TIMES).run(2, 0))
        await eventually(lambda: (run, "dead") in standings(served))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert "it:agent" in served.jobs.queue.get(run).error


async def test_a_worker_that_is_stopped_gives_its_run_back(
    served: ServedJobs, tmp_path: Path
) -> None:
    """The next one is told that its call has ended, and may have happened."""
    run, first, second = await submitted(served), Launcher(), Launcher()
    async with working(served, tmp_path / "1", first.agent(LAUNCH)) as task:
        await eventually(lambda: first.begun)
        task.cancel()
        await asyncio.wait((task,))
        assert first.ended == ["moon"]
        assert served.jobs.queue.get(run).state == "queued"
        assert served.jobs.queue.get(run).failures == 0
    async with working(served, tmp_path / "2", second.agent(say("Perhaps."))):
        await eventually(lambda: state_of(served, run) == "done")
    assert (calls_of(served, run), second.begun) == (["ambiguous"], [])


async def test_a_worker_that_has_lost_its_lease_stops_at_once(
    served: ServedJobs, tmp_path: Path
) -> None:
    """It records nothing more, and what it had begun is ambiguous."""
    run, first, second = await submitted(served), Launcher(), Launcher()
    async with working(served, tmp_path / "1", first.agent(LAUNCH)):
        await eventually(lambda: first.begun)
        with served.jobs.queue._file.changing() as db:  # as if it had been silent for too long
            db.execute("UPDATE jobs SET expires = 1, attempts = 9 WHERE run = ?", (run,))
            served.jobs.queue._lapse(db, 2)
            db.execute("UPDATE jobs SET due = 1 << 60 WHERE run = ?", (run,))
        await eventually(lambda: first.ended)
    before = served.run(served.world.get(run)).state
    assert [one.status for one in before.calls] == [None]
    served.jobs.wake(run)
    async with working(served, tmp_path / "2", second.agent(say("Perhaps."))):
        await eventually(lambda: state_of(served, run) == "done")
    assert (calls_of(served, run), second.begun) == (["ambiguous"], [])


async def test_a_cancelled_run_ends_a_tool_that_works_elsewhere(
    served: ServedJobs, tmp_path: Path
) -> None:
    run, launcher = await submitted(served), Launcher()
    async with working(served, tmp_path, launcher.agent(LAUNCH)):
        await eventually(lambda: launcher.begun)
        served.run(served.world.send(run, Cancel(reason="enough")))
        await eventually(lambda: state_of(served, run) == "done")
        assert launcher.ended == ["moon"]
    assert served.run(served.world.get(run)).status == "cancelled"


async def test_a_killed_worker_leaves_its_call_ambiguous(
    served: ServedJobs, tmp_path: Path
) -> None:
    """No later one repeats it: nobody can know whether it has happened."""
    world, effects = served.serve(), tmp_path / "effects"
    run: str = served.run(world.submit("Launch.", Launcher().agent(), name="here:agent"))
    script = Path(__file__).with_name("http_worker.py")
    environment = os.environ | {"ARTIFICER_API_TOKEN": served.token()}
    words = [str(script), served.url, str(tmp_path / "home"), str(effects)]
    process = await preloaded.start(*words, env=environment)
    try:
        await eventually(lambda: effects.exists() and effects.read_text())
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        await process.wait()
    with served.jobs.queue._file.changing() as db:
        served.jobs.queue._lapse(db, 1 << 60)
    second = Launcher()
    async with working(served, tmp_path / "2", second.agent(say("Perhaps."))):
        await eventually(lambda: state_of(served, run) == "done")
    assert (calls_of(served, run), second.begun) == (["ambiguous"], [])
    assert effects.read_text() == "moon\n"


class HttpLine:
    """A line to the studio. ``is_cut`` ends what goes through it, and lets nothing begin;
    ``swallow`` cuts it once, after the server has got a request with these bytes."""

    def __init__(self, port: int) -> None:
        self.is_cut = False
        self.swallow = b""
        self.swallowed = 0
        self._target = port
        self._open = set[socket.socket]()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End everything that is under way, and let nothing through."""
        self.is_cut = True
        for one in list(self._open):
            _shut(one)

    def close(self) -> None:
        """Accept nothing more."""
        self.cut()
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.is_cut:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._target))
                self._open |= {client, server}
                for one, other, asks in ((client, server, True), (server, client, False)):
                    work = threading.Thread(target=self._pump, args=(one, other, asks), daemon=True)
                    work.start()

    def _pump(self, one: socket.socket, other: socket.socket, asks: bool) -> None:
        unheard = False
        with suppress(OSError):
            while data := one.recv(65_536):
                if asks and self.swallow and self.swallow in data:
                    self.swallow, unheard = b"", True
                    self.swallowed += 1
                if asks:
                    other.sendall(data)
                if unheard:
                    one.shutdown(socket.SHUT_WR)
                    _shut(one)
                    break
                if not asks:
                    other.sendall(data)
        _shut(one, other)


def _shut(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def line(served: ServedJobs) -> Iterator[HttpLine]:
    found = HttpLine(served.port)
    served.hosts.add(f"127.0.0.1:{found.port}")
    yield found
    found.close()


async def test_a_record_whose_answer_is_lost_is_recorded_once(
    served: ServedJobs, tmp_path: Path, line: HttpLine
) -> None:
    """The worker sends it again, and learns that it was there."""
    run, launcher = await submitted(served), Launcher()
    line.swallow = b"ToolReturned"
    agent, url = launcher.agent(LAUNCH, say("Launched.")), f"http://127.0.0.1:{line.port}"
    launcher.may_end.set()
    async with working(served, tmp_path, agent, url=url):
        await eventually(lambda: state_of(served, run) == "done")
    assert (line.swallowed, launcher.begun) == (1, ["moon"])
    assert calls_of(served, run) == ["ok"]
    assert served.run(served.world.get(run)).text == "Launched."


async def test_a_worker_that_is_cut_off_stops_before_its_lease_ends(
    served: ServedJobs, tmp_path: Path, line: HttpLine
) -> None:
    """Another one goes on, and repeats nothing."""
    run, first, second = await submitted(served), Launcher(), Launcher()
    times = LeaseTimes(lease_s=1, wait_s=1, beat_s=0.1)
    url = f"http://127.0.0.1:{line.port}"
    async with working(served, tmp_path / "1", first.agent(LAUNCH), times, url=url):
        await eventually(lambda: first.begun)
        line.cut()
        await eventually(lambda: first.ended)
        async with working(served, tmp_path / "2", second.agent(say("Perhaps."))):
            await eventually(lambda: state_of(served, run) == "done")
    assert (calls_of(served, run), second.begun) == (["ambiguous"], [])


LIMIT = "requests.scripted.at_once"


@pytest.mark.req("http-worker-permits")
async def test_workers_with_and_without_a_database_share_the_limits_of_requests(
    served: ServedJobs, tmp_path: Path, line: HttpLine
) -> None:
    """They are the studio's; and one whose answer is lost takes its permit once."""
    limits = SETTINGS.replace(requests={"scripted": SharedLimits(at_once=1, per_minute=4)})
    world = served.serve(settings=limits)
    runs = [await submitted(served, world) for _ in range(2)]
    theirs = served.jobs.storage.permits  # of a worker with a database
    taken = served.run(theirs.take([SharedLimit(LIMIT, 1)]))
    assert isinstance(taken, Permit)
    inside, go_on = list[int](), asyncio.Event()

    async def answer(body: object) -> str:
        inside.append(1)
        await go_on.wait()
        return "Done."

    agent, worlds = Launcher().agent(model=ScriptedProvider(answer)), list[World]()
    line.swallow = b"/permits HTTP"
    url = f"http://127.0.0.1:{line.port}"
    async with working(served, tmp_path, agent, url=url, opened=worlds):
        await eventually(lambda: worlds)
        ours = storage_of(worlds[0]).permits
        await eventually(lambda: ours.waiting[LIMIT] == 2 and line.swallowed)
        assert not inside
        line.swallow = b"/permits HTTP"
        await asyncio.wrap_future(served.ask(_given_back(theirs, taken)))
        await eventually(lambda: inside and ours.waiting[LIMIT] == 1)
        assert (len(inside), ours.held) == (1, {LIMIT: 1})
        go_on.set()
        await eventually(lambda: all(state_of(served, run) == "done" for run in runs))
        assert line.swallowed == 2
        await eventually(lambda: LIMIT not in served.run(served.jobs.permits.held()))
    served.run(theirs.aclose())


async def _given_back(keeper: PermitKeeper, permit: Permit) -> None:
    await keeper.give_back(permit)


@pytest.mark.req("http-worker-outages")
async def test_a_worker_waits_for_a_studio_without_database_and_ends_without_its_right() -> None:
    """It was told that a job cannot be handed out now; then that its token is none."""
    said = [(409, "operator"), (500, "tampered"), (500, "bug"), (409, "fenced"), (403, "forbidden")]

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        status, code = said.pop(0)
        answer(status, json.dumps({"error": {"code": code, "message": "No."}}))(handler, seen)

    async def execute(run: str, _: str) -> SegmentAnswer:
        raise AssertionError

    with serving(respond) as server:
        storage = RemoteStorage(ApiClient(server.url, "token"))
        with pytest.raises(ForbiddenError):
            await JobServer(storage, LeaseTimes(pause_s=0.01)).serve(execute, 1)
        await storage.aclose()
    assert not said


class FaultyStudio:
    """Hands out one job, and answers each kind of request with the next of its answers."""

    def __init__(self, **answers: list[tuple[int, str]]) -> None:
        self.asked: list[str] = []
        job = {"run": "r", "attempt": 1, "fence": 1, "head": {"seq": 0, "hash": ""}, "former": ""}
        self._jobs = [job]
        self._answers = answers

    def __call__(self, handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        what = handler.path.rpartition("/")[2]
        self.asked.append(what)
        status, body = 200, dict[str, object]()
        if what == "lease" and self._jobs:
            body = {"job": self._jobs.pop(), "limits": []}
        elif answers := self._answers.get(what):
            status, code = answers.pop(0)
            body = {"error": {"code": code, "message": "No."}} if code else {}
        answer(status, json.dumps(body))(handler, seen)


@pytest.mark.req("http-worker-outages")
async def test_a_fault_of_the_studio_does_not_end_the_heartbeats() -> None:
    """The lease goes on. When it is lost, so is the work."""
    beats = [(500, "bug"), (200, ""), (500, "bug"), (409, "fenced")]
    studio, stopped = FaultyStudio(heartbeat=beats), asyncio.Event()

    async def execute(run: str, _: str) -> SegmentAnswer:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    with serving(studio) as server:
        storage = RemoteStorage(ApiClient(server.url, "token"))
        times = LeaseTimes(lease_s=600, beat_s=0.01, pause_s=60)
        working = asyncio.create_task(JobServer(storage, times).serve(execute, 1))
        async with asyncio.timeout(PATIENCE_S):
            await stopped.wait()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        await storage.aclose()
    assert not beats and studio.asked.count("heartbeat") == 4


@pytest.mark.req("http-worker-outages")
async def test_a_worker_goes_on_after_a_lease_that_the_studio_could_not_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    studio = FaultyStudio(complete=[(500, "bug")], lease=[(403, "forbidden")])

    async def execute(run: str, _: str) -> SegmentAnswer:
        return SegmentAnswer("done")

    with serving(studio) as server:
        storage = RemoteStorage(ApiClient(server.url, "token"))
        with pytest.raises(ForbiddenError):
            await JobServer(storage, LeaseTimes(pause_s=0.01)).serve(execute, 1)
        await storage.aclose()
    assert studio.asked == ["lease", "complete", "lease"]
    assert "the lease of run r was not ended in order: No." in caplog.text
