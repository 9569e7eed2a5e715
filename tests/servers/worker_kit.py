"""A studio in a thread of its own, whose world is replaced by a fresh one for each test."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from uvicorn import Config, Server

from artificer.cli.execution.listening import listen
from artificer.config import Config as Settings
from artificer.config import StudioConfig
from artificer.studio.access import Access
from artificer.studio.app import studio
from artificer.studio.jobs.reach import FamilyReach
from artificer.studio.jobs.service import Jobs
from artificer.studio.tokens import ApiTokens, TokenScope
from artificer.world import World

SETTINGS = Settings(studio=StudioConfig(requests_per_minute=1_000_000))


class AnyReach(FamilyReach):
    """Lets a worker touch everything: the suites of storage know no families of runs."""

    def has_run(self, job: str, run: str) -> bool:
        return True

    def has_account(self, job: str, account: str, now: int) -> bool:
        return True

    def has_workspace(self, spec: object, name: str, *, writes: bool = False) -> bool:
        return True

    def time(self, of_worker: int, now: int) -> int:
        return of_worker

    def permit_s(self, of_worker: float, lease: int) -> float:
        return of_worker

    def has_version(self, *, is_own: bool) -> bool:
        return True


class ServedJobs:
    """A served studio. ``jobs`` are those of the world that is served now."""

    def __init__(self, folder: Path) -> None:
        self.tokens = ApiTokens(folder, lambda: 0)
        self.jobs: Jobs
        self.world: World
        self._app: Any = None
        self._open = AsyncExitStack()
        self._loop = asyncio.new_event_loop()
        self._started: Future[None] = Future()
        listening = listen("The studio", "127.0.0.1", 0)
        self.port = listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.hosts = {f"127.0.0.1:{self.port}"}
        config = Config(self, log_level="warning", lifespan="off", access_log=False)
        self._server = Server(config)
        serving = self._server.serve(sockets=[listening])
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=(serving,), daemon=True
        )
        self._thread.start()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on to the studio of the present world."""
        await self._app(scope, receive, send)

    def token(self, *scopes: TokenScope) -> str:
        """Make a token."""
        return self.tokens.new("worker", scopes or ("work",), 1)[1]

    def serve(
        self,
        reach: FamilyReach | None = None,
        home: Path | None = None,
        settings: Settings = SETTINGS,
    ) -> World:
        """Serve a fresh world from now on, or again the one in the folder ``home``."""
        return self.run(self._serve(reach, home, settings))

    async def _serve(
        self, reach: FamilyReach | None, home: Path | None, settings: Settings
    ) -> World:
        await self._forget()
        self.world = World.in_memory(settings)
        if home is not None:
            kept = World.open(settings.replace(home=home, project="kept"))
            self.world = await self._open.enter_async_context(kept)
        access = Access("Ada", tokens=self.tokens)
        self._app = studio(self.world, access, self.hosts)
        self.jobs = self._app.state.studio.jobs
        if reach is not None:
            self.jobs.reach = reach
        return self.world

    def run(self, work: Any) -> Any:
        """Run a coroutine in the server's loop."""
        return self.ask(work).result(60)

    def ask(self, work: Any) -> Future[Any]:
        """Begin a coroutine in the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _forget(self) -> None:
        if self._app is not None:
            await self.jobs.aclose()
        await self._open.aclose()

    def close(self) -> None:
        """Stop the server."""
        self.run(self._forget())
        self._server.should_exit = True
        self._thread.join()
        self._loop.close()


class Elsewhere:
    """Something that lives in the loop of a served studio, and is asked from another one."""

    def __init__(self, served: ServedJobs, target: object) -> None:
        self._served, self._target = served, target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return Elsewhere(self._served, found)

        async def ask(*positional: Any, **named: Any) -> Any:
            asked = self._served.ask(found(*positional, **named))
            return await asyncio.wrap_future(asked)

        return ask
