"""Health and metrics: what probes and Prometheus are told while runs go on."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.config import Config
from artificer.core import events as ev
from artificer.core.price import Price
from artificer.core.spec import Limits
from artificer.errors import ConfigError, Fenced, OperatorError
from artificer.health.exposition import Metric, exposition
from artificer.health.health import Health
from artificer.health.server import CONNECTIONS, HealthServer, place_of
from artificer.health.tally import Tally
from artificer.ports import Call
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.storage.memory.storage import MemoryStorage
from artificer.testing.rig import Rig, SteppingClock
from artificer.values.base import JsonObject
from artificer.values.model import ModelFailure, ModelReply, Usage
from artificer.world import World

pytestmark = pytest.mark.req("health")


async def asked(address: str, path: str, host: str = "localhost", method: str = "GET") -> str:
    """The whole answer to a request."""
    place, _, port = address.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(place, int(port))
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    try:
        async with asyncio.timeout(60):
            return (await reader.read()).decode()
    except ConnectionResetError:
        return ""
    finally:
        writer.close()


def value(metrics: str, name: str) -> float:
    """The value of a metric, which has to be there once."""
    (found,) = re.findall(rf"^{re.escape(name)} (\S+)$", metrics, re.MULTILINE)
    return float(found)


@asynccontextmanager
async def serving(world: World, **more: object) -> AsyncIterator[str]:
    async with HealthServer(Health(world, **more), "127.0.0.1", 0) as server:  # type: ignore[arg-type]
        yield server.address


@pytest.mark.req("metrics")
async def test_a_run_is_measured_while_it_goes_on(tmp_path: Path) -> None:
    reached, go = asyncio.Event(), asyncio.Event()

    @tool
    async def work(n: int) -> str:
        """Work."""
        reached.set()
        await go.wait()
        return "done: the secret of the tool"

    config = Config(home=tmp_path, project="p")
    script = [reply(call("work", n=1)), say("Done, says the model.")]
    agent = Agent(ScriptedProvider(script), kind="chat", tools=[work])
    async with World.open(config) as world, serving(world) as address:
        running = asyncio.create_task(world.run("Work, says the person.", agent, run_id="r"))
        await reached.wait()
        await world.archive.index_runs()
        first = await asked(address, "/metrics")
        assert "text/plain; version=0.0.4" in first
        assert value(first, 'artificer_runs{status="open"}') == 1
        assert value(first, "artificer_turns_total") == 1
        assert value(first, "artificer_oldest_open_run_seconds") >= 0
        go.set()
        await running
        await world.archive.index_runs()
        second = await asked(address, "/metrics")
        assert value(second, "artificer_turns_total") == 2
        assert value(second, 'artificer_calls_total{status="ok"}') == 1
        assert value(second, 'artificer_runs_ended_total{status="completed"}') == 1
        assert value(second, 'artificer_runs{status="completed"}') == 1
        assert value(second, "artificer_fenced_writes_total") == 0
        assert value(second, "artificer_ready") == 1
        for said in ("says", "secret", "done"):
            assert said not in first + second


@pytest.mark.req("metrics")
async def test_the_age_of_the_queue_is_that_of_its_oldest_run(tmp_path: Path) -> None:
    clock = SteppingClock(1_000_000, step=0)
    agent = Agent(ScriptedProvider([say("Done.")]), kind="chat")
    async with World.open(Config(home=tmp_path, project="p"), clock=clock) as world:
        for run in ("begun", "b", "c"):
            await world.submit("Work.", agent, run_id=run)
            clock.time += 5_000
        await world.resume("begun", agent)
        async with serving(world) as address:
            told = await asked(address, "/metrics")
        assert value(told, "artificer_oldest_queued_run_seconds") == 10
        queued = (await world.archive.list_runs(9, status="queued")).runs
        assert [run.run for run in queued] == ["c", "b"]


@pytest.mark.req("metrics")
async def test_a_record_that_is_refused_is_counted(tmp_path: Path) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        """Work."""
        started.set()
        await go.wait()
        return "done"

    config = Config(home=tmp_path, project="p")
    agent = Agent(ScriptedProvider([reply(call("work")), say("x")]), kind="chat", tools=[work])
    async with World.open(config) as world, serving(world) as address:
        losing = asyncio.create_task(world.run("Work.", agent, run_id="r"))
        await started.wait()
        await world.cancel("r")
        go.set()
        with pytest.raises(Fenced):
            await losing
        assert value(await asked(address, "/metrics"), "artificer_fenced_writes_total") == 1


@pytest.mark.req("metrics")
@pytest.mark.parametrize(
    ("summary", "prompt", "code"),
    [
        (say("All was read."), "Summarise.", None),
        (say(" "), "Summarise.", "empty_summary"),
        (ModelFailure(code="overloaded", message="No."), "Summarise.", "overloaded"),
        (None, "", None),
    ],
    ids=["written", "empty", "failed", "none is asked for"],
)
async def test_summaries_are_counted_as_the_run_counts_them(
    summary: ModelReply | ModelFailure | None, prompt: str, code: str | None
) -> None:
    def model(body: JsonObject) -> ModelReply | ModelFailure:
        if body["system"] == "Summarise.":
            assert summary is not None
            return summary
        answer = say("Done.") if len(turns) == 9 else reply(call("read", n=len(turns)))
        usage = Usage(input_tokens=len(json.dumps(body)) // 4, output_tokens=10)
        return answer.replace(usage=usage)

    async def read(call: Call) -> str:
        turns.append("x" * 4_000)
        return turns[-1]

    turns: list[str] = []
    rig = Rig()
    rig.observer = tally = Tally()
    rig.tools.add("read", read)
    limits = Limits(turns=20, context_tokens=6_000)
    price = Price(input=1_000_000, output=2_000_000)
    provider = ScriptedProvider(model)
    state = await rig.run(provider, limits=limits, compaction=prompt, price=price)
    told = exposition(tally.metrics())
    assert value(told, "artificer_turns_total") == state.turn == 10
    assert value(told, 'artificer_tokens_total{direction="input"}') == state.usage.input_tokens
    assert value(told, 'artificer_tokens_total{direction="output"}') == state.usage.output_tokens
    dollars = value(told, "artificer_cost_dollars_total")
    assert dollars == pytest.approx((state.cost_micros or 0) / 1_000_000)
    failed = [e for e in await rig.events() if isinstance(e, ev.CompactionFailed)]
    name = "artificer_model_failures_total{"
    assert [line for line in told.splitlines() if line.startswith(name)] == (
        [f'{name}code="{code}"}} {len(failed)}'] if code else []
    )
    assert bool(failed) is (code is not None or not prompt)


class Part:
    """A part of a storage, one of whose methods fails, or is counted."""

    def __init__(self, part: object, method: str, *, away: bool) -> None:
        self._part, self._method, self._away = part, method, away
        self.asked = 0

    def __getattr__(self, name: str) -> object:
        found = getattr(self._part, name)

        def ask(*args: object, **options: object) -> object:
            self.asked += 1
            if self._away:
                raise OperatorError("The database at 10.1.2.3 cannot be reached.")
            return found(*args, **options)

        return ask if name == self._method else found


class Broken(MemoryStorage):
    """A storage, a part of which does not answer."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.parts = Part(self.journal, "runs", away=what == "journal")
        self.journal = self.parts  # type: ignore[assignment]
        self.blobs = Part(self.blobs, "has", away=what == "blobs")  # type: ignore[assignment]


@pytest.mark.parametrize("what", ["journal", "blobs"])
async def test_what_does_not_answer_is_named_and_nothing_else(what: str) -> None:
    storage = Broken(what)
    async with World.open(Config(), storage) as world, serving(world) as address:
        answers = [await asked(address, "/readyz") for _ in range(5)]
        assert all("503" in answer and answer.endswith(f"\r\n\r\n{what}\n") for answer in answers)
        assert "200 OK" in await asked(address, "/healthz"), "it lives, and is not restarted"
        metrics = await asked(address, "/metrics")
        assert value(metrics, "artificer_ready") == 0 and "artificer_runs{" not in metrics
        assert "10.1.2.3" not in "".join([*answers, metrics])


async def test_many_who_ask_ask_the_storage_once() -> None:
    storage = Broken("")
    async with World.open(Config(), storage) as world:
        health = Health(world)
        assert await asyncio.gather(*(health.problem() for _ in range(50))) == [""] * 50
        assert storage.parts.asked == 1


async def test_a_process_that_drains_is_not_ready() -> None:
    async with World.in_memory() as world, serving(world, draining=lambda: True) as address:
        assert (await asked(address, "/readyz")).endswith("draining\n")


async def test_who_asks_for_anything_else_gets_nothing() -> None:
    async with World.in_memory() as world, serving(world) as address:
        assert " 404 " in await asked(address, "/")
        assert " 405 " in await asked(address, "/metrics", method="POST")
        assert " 421 " in await asked(address, "/metrics", host="evil.example:80")
        assert " 200 " in await asked(address, "/healthz", host="127.0.0.1:9464")
        assert await asked(address, "/" + "x" * 20_000) == ""
        port = int(address.rpartition(":")[2])
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(60):
            assert await reader.read() == b"", "there are enough connections"
        for _, other in [*idle, (reader, writer)]:
            other.close()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("9464", ("127.0.0.1", 9464)),
        (":9464", ("127.0.0.1", 9464)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),
        ("[::1]:2", ("::1", 2)),
    ],
)
def test_a_place_to_listen(text: str, place: tuple[str, int]) -> None:
    assert place_of(text) == place


@pytest.mark.parametrize("text", ["", "x", "h:", "h:x", "h:99999", "h:-1", "h:٣"])
def test_no_place_to_listen(text: str) -> None:
    with pytest.raises(ConfigError, match="not an address to listen on"):
        place_of(text)


async def test_a_taken_port_is_named() -> None:
    async with World.in_memory() as world, serving(world) as address:
        port = int(address.rpartition(":")[2])
        with pytest.raises(OperatorError, match=f"port {port}"):
            async with HealthServer(Health(world), "127.0.0.1", port):
                pass


def test_what_a_label_says_cannot_end_it() -> None:
    text = exposition([Metric("m", "gauge", "Help\n# x", {'a"} 1\nb': 2}, "l")])
    assert text.splitlines() == ["# HELP m Help\\n# x", "# TYPE m gauge", r'm{l="a\"} 1\nb"} 2']
