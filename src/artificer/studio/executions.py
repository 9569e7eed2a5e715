"""The runs that the studio executes: those begun or continued in it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from artificer.dispatch.agents import Agents, agent_of
from artificer.dispatch.callers import topmost
from artificer.errors import ArtificerError, OperatorError, OwnedError
from artificer.system.tasks import end_all
from artificer.world import World

log = logging.getLogger("artificer.studio.executions")

MAX_EXECUTIONS = 32
"""Runs at a time."""

MAX_PROBLEMS = 1_000
"""Runs whose problems are remembered; then the oldest is forgotten."""

PATIENCE_S = 0.3
"""How long a person waits to hear that another process has the run."""


class Executions:
    """Executes runs in their own tasks, until they have ended, are idle, or the studio closes.

    ``failures`` says why a run could not be begun or continued, by its id; ``elsewhere`` that
    another process has one that a person wanted to continue here.
    """

    def __init__(
        self, world: World, agents: Agents, wake: Callable[[str], bool] = lambda _: False
    ) -> None:
        """``wake`` has a worker execute a run, and says whether one does that."""
        self._world = world
        self._wake = wake
        self._agents = agents
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._late: dict[str, Callable[[], Awaitable[object]]] = {}
        self.failures: dict[str, str] = {}
        self.elsewhere: dict[str, str] = {}
        self._wanted_here = set[str]()

    def start(self, run: str, work: Callable[[], Awaitable[object]]) -> None:
        """Begin or continue a run. Raises OperatorError if too many are in progress.

        One that is in progress may be about to end, and take no more signals: it is then continued.
        """
        if run in self._tasks:
            self._late[run] = work
            return
        if len(self._tasks) >= MAX_EXECUTIONS:
            raise OperatorError(
                f"{MAX_EXECUTIONS} runs are in progress in this studio.",
                hint="Wait for one to end, or cancel one.",
            )
        self.failures.pop(run, None)
        self.elsewhere.pop(run, None)
        task = asyncio.create_task(self._perform(run, work), name=f"studio {run}")
        self._tasks[run] = task
        task.add_done_callback(lambda _: self._ended(run, task))  # even if it never began

    async def resume(self, run: str, *, take_over: bool = False) -> None:
        """Continue a run, if no other process executes it: with the run that waits for it, if any.

        A run that another one has started continues as a part of that one, so the topmost is
        resumed. Raises NotFoundError, TamperedError.
        """
        top, state = await topmost(self._world.storage, run)
        if not take_over and self._wake(top):
            return
        agent = agent_of(state.run_spec, self._agents)
        self.start(top, lambda: self._world.resume(top, agent, take_over=take_over))

    async def resume_here(self, run: str, *, take_over: bool = False) -> None:
        """Continue a run for a person, who learns of another process that executes it.

        Raises NotFoundError, TamperedError.
        """
        top, _ = await topmost(self._world.storage, run)
        self.elsewhere.pop(run, None)
        await self.resume(run, take_over=take_over)
        if (task := self._tasks.get(top)) is not None:
            self._wanted_here.add(top)  # it has not begun yet
            task.add_done_callback(lambda _: self._wanted_here.discard(top))
            await asyncio.wait((task,), timeout=PATIENCE_S)  # a refusal comes at once
        if top in self.elsewhere:
            _remember(self.elsewhere, run, self.elsewhere[top])

    def problem(self, run: str, *, over: bool) -> str:
        """Why a run is not executed here as a person wanted; nothing if all is well."""
        return self.failures.get(run, "") or ("" if over else self.elsewhere.get(run, ""))

    def executes(self, run: str) -> bool:
        """Whether the run is in progress here."""
        return run in self._tasks

    async def aclose(self) -> None:
        """Stop what is in progress: every run can be resumed."""
        await end_all(self._tasks.values())

    async def _perform(self, run: str, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await self._attempt(run, work)
            while (late := self._late.pop(run, None)) is not None:
                await self._attempt(run, partial(self._continue, run, late))
        finally:
            self._ended(run, asyncio.current_task())

    def _ended(self, run: str, task: asyncio.Task[None] | None) -> None:
        if self._tasks.get(run) is task:
            del self._tasks[run]
            self._late.pop(run, None)

    async def _continue(self, run: str, work: Callable[[], Awaitable[object]]) -> None:
        """Continue a run if signals came too late for it."""
        if await self._world.archive.has_signals(run):
            await work()

    async def _attempt(self, run: str, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except OwnedError as error:
            if run in self._wanted_here:
                _remember(self.elsewhere, run, f"{error.message} {error.hint or ''}".rstrip())
            log.info("run %s is executed by another process", run)
        except ArtificerError as error:
            _remember(self.failures, run, f"{error.message} {error.hint or ''}".rstrip())
            log.warning("run %s: %s", run, self.failures[run])
        except Exception as error:  # boundary: the code of an agent's program
            why = f"The program failed: {type(error).__name__}. The log says more."
            _remember(self.failures, run, why)
            log.error("run %s", run, exc_info=error)


def _remember(problems: dict[str, str], run: str, problem: str) -> None:
    problems.pop(run, None)
    problems[run] = problem
    if len(problems) > MAX_PROBLEMS:
        del problems[next(iter(problems))]
