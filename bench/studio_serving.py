"""The studio of ``bench/studio.py``, in a process of its own.

    python bench/studio_serving.py HOME

It prints its port and its key, and answers each line of JSON with one. ``begin`` starts a run that
waits before its first reply; ``go`` lets it reply, and answers with the seconds it took; ``made``
answers with a run of a report, which is made once.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from uvicorn import Config, Server

import artificer
from artificer.agent import Agent
from artificer.artifacts import catalog
from artificer.cli.execution.listening import listen
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.studio.access import Access
from artificer.studio.app import studio
from artificer.values.model import Delta, ModelReply, TextDelta
from artificer.world import World
from measure import Spent
from report import CHARTS, TABLES, chart, table
from worlds import look_up

PIECE = "Air scatters blue light. "


class PacedProvider(ScriptedProvider):
    """Replies with a call in each turn but the last, after a text that forms piece by piece."""

    def __init__(self, turns: int, pieces: int, pause: float) -> None:
        super().__init__([*(reply(call("look_up", key="k", n=n)) for n in range(turns)), say("Ok")])
        self.pieces, self.pause = pieces, pause
        self.waiting, self.begun = asyncio.Event(), asyncio.Event()

    async def generate(self, payload: Any, on_delta: Callable[[Delta], None]) -> Any:
        self.waiting.set()
        await self.begun.wait()
        for _ in range(self.pieces):
            on_delta(TextDelta(text=PIECE))
            await asyncio.sleep(self.pause)
        answer = await super().generate(payload, on_delta)
        assert isinstance(answer, ModelReply)
        return answer


class Runs:
    """The runs of this studio."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.model: PacedProvider | None = None
        self.task: asyncio.Task[Any] | None = None
        self.report = ""

    async def begin(self, turns: int, pieces: int, pause: float) -> str:
        self.model, run = PacedProvider(turns, pieces, pause), self.world.clock.new_run_id()
        limits = artificer.Limits(turns=turns + 1)
        agent = Agent(self.model, tools=[look_up], limits=limits, kind="chat")
        self.task = asyncio.create_task(self.world.run("Go on.", agent, run_id=run))
        await self.model.waiting.wait()
        return run

    async def go(self) -> Spent:
        assert self.model is not None and self.task is not None
        start = Spent.now()
        self.model.begun.set()
        await self.task
        return Spent.now().since(start)

    async def made(self) -> str:
        """A run with as many charts and tables as the report of ``bench/report.py``."""
        if not self.report:
            made = [*map(chart, range(CHARTS)), *map(table, range(TABLES))]
            calls = reply(*(call(tool, **arguments) for tool, arguments in made))
            names = [catalog.identity(tool, arguments)[:2] for tool, arguments in made]
            cited = "\n\n".join(f"{{{{artifact:{kind}:{name}}}}}" for kind, name in names)
            agent = Agent(ScriptedProvider([calls, say(f"# Report\n\n{cited}\n")]))
            run = await self.world.run("Make the report.", agent)
            assert len(run.artifacts) == CHARTS + TABLES, run.text
            self.report = run.id
        return self.report


async def serve(home: str) -> None:
    config = artificer.Config(home=Path(home), project="bench", durability="process")
    async with World.open(config) as world:
        listening = listen("The studio", "127.0.0.1", 0)
        port, access = listening.getsockname()[1], Access("Ada")
        app = studio(world, access, [f"127.0.0.1:{port}"])
        settings = Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
        server, runs = Server(settings), Runs(world)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        works: dict[str, Callable[..., Awaitable[Any]]] = {
            "begin": runs.begin,
            "go": runs.go,
            "made": runs.made,
        }
        print(json.dumps({"port": port, "key": access.key}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            work, *arguments = json.loads(line)
            print(json.dumps(await works[work](*arguments)), flush=True)
        server.should_exit = True
        await serving


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
