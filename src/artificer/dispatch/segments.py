"""Segments: a run is executed in this process until it is idle, and says what it waits for."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from artificer.core.record import decode
from artificer.core.signals import Cancel, Interrupt, read_signal
from artificer.core.state import RunPhase, RunState
from artificer.core.waits import CallWait
from artificer.dispatch.agents import Agents, agent_of_run
from artificer.dispatch.awaited import AwaitedRun, awaited, held_back, some_go_on
from artificer.dispatch.callers import EndedCallers, caller_of
from artificer.errors import (
    ArtificerError,
    Fenced,
    MovedError,
    NotFoundError,
    OperatorError,
    OwnedError,
    places,
)
from artificer.ports import CANCEL, AwaitsRuns, Parked, RunOver, SegmentEnd
from artificer.runtime.delays import LOOKED_AT, delay_of
from artificer.runtime.ending import has_signal_of
from artificer.runtime.falls import delay_after, falls_of
from artificer.runtime.load import Loaded
from artificer.runtime.snapshot import restored
from artificer.runtime.waiting import waited_for
from artificer.world import World, resume_submitted

log = logging.getLogger("artificer.dispatch.segments")

ELSEWHERE_S = 2.0
"""Seconds until a run is tried again that another process executes."""

REFUSED_S = 60.0
"""Seconds until a run is tried again that cannot be executed here: its agent is missing, or a
server of tools does not answer."""

CHILDREN_S = 60.0
"""Seconds until a run is looked at again whose children all wait for a person. The end of one wakes
it; this is for when that is lost."""

CHILD = "child"
"""The cause of a segment after the end of a child."""

AGAIN_S = 1.0
"""Seconds until a run continues that got a signal at the moment when it became idle."""

ENDING = (Cancel, Interrupt)
"""Signals that a paused run takes. For anything else it stays paused until a person resumes it."""


class Segments:
    """Executes the runs of a world. ``execute`` is a `ports.ExecuteSegment`.

    The runs of agents that runs call are left to workers, as runs of their own; ``wake_caller`` is
    called with each run that has become idle. With ``counts_falls``, it leaves alone what workers
    die of; a studio counts that itself.
    """

    def __init__(
        self,
        world: World,
        agents: Agents,
        wake_caller: Callable[[str], Awaitable[None]],
        *,
        counts_falls: bool = True,
    ) -> None:
        self._world = world
        self._storage = world.storage
        self._agents = agents
        self._wake_caller = wake_caller
        self._ended_callers = EndedCallers(world.storage)
        self._counts_falls = counts_falls
        self.abandoned = set[str]()
        """Runs that nobody executes, because those who did have died of it."""

    async def execute(self, run: str, cause: str) -> SegmentEnd:
        """Execute a run until it is idle. One that waits for something is left as it is."""
        try:
            return await self.attempt(run, cause)
        except MovedError:  # nor can any other
            raise
        except OperatorError as error:
            log.error("run %s cannot be executed here: %s", run, error.message, extra={"run": run})
            return Parked(REFUSED_S, refused=True)

    async def attempt(self, run: str, cause: str) -> SegmentEnd:
        """Execute a run until it is idle. Raises OperatorError if that cannot be done here."""
        try:
            return await self._execute(run, cause)
        except (OwnedError, Fenced) as error:
            log.info("run %s is executed elsewhere: %s", run, error.message, extra={"run": run})
            return Parked(ELSEWHERE_S)
        except MovedError:
            raise
        except ArtificerError as error:
            raise OperatorError(f"{error.message} {error.hint or ''}".rstrip()) from error
        except Exception as error:  # boundary: the code of an agent's program
            log.error("the program of run %s failed: %s", run, places(error), extra={"run": run})
            kind = type(error).__name__
            raise OperatorError(f"Its program failed: {kind}. The log says more.") from error

    async def _execute(self, run: str, cause: str) -> SegmentEnd:
        self.abandoned.discard(run)
        try:
            loaded = await restored(self._storage, run)
        except NotFoundError:  # it is pruned
            return RunOver()
        state, spec = loaded.state, loaded.state.run_spec
        if cause.startswith(CANCEL):
            await self._cancel(run, state, cause.removeprefix(CANCEL))
        elif why := await self._ended_callers.why(caller_of(run, spec)):
            await self._cancel(run, state, why)
        if cause == CHILD and await self._waits_on(run, state):
            return AwaitsRuns(tuple(wait.run for wait in state.waits))
        found = await self._standing(run, state)
        if found is None and self._counts_falls:
            found = await self._after_falls(run, loaded)
        if found is None:
            agent, deps = await agent_of_run(self._storage, run, spec, self._agents)
            idle = await resume_submitted(self._world, run, agent, deps)
            found = await self._standing(run, idle.state) or Parked(AGAIN_S)
        if not isinstance(found, AwaitsRuns):
            await self._wake_caller(run)
        return found

    async def _waits_on(self, run: str, state: RunState) -> bool:
        """Whether a run that the end of a child has woken waits for other ones."""
        if not state.only_waits or held_back(state):
            return False
        if await self._storage.signals.read(run, state.letters):
            return False
        return await some_go_on(self._storage, run, state.waits)

    async def _standing(self, run: str, state: RunState) -> SegmentEnd | None:
        """Return what a run in this state waits for; None if it can continue."""
        signals = await self._storage.signals.read(run, state.letters)
        if state.phase is RunPhase.FINISHED:
            return None if signals else RunOver()
        if state.standing == "paused" and state.phase is RunPhase.PAUSED:
            ends = any(isinstance(read_signal(body), ENDING) for _, body in signals)
            return None if ends else Parked()
        if signals:
            return None
        if not state.waits:
            return await self._waiting(run, state, ())
        children = await awaited(self._storage, run, state)
        if not any(child.is_submitted for child in children):
            return await self._with_below(run, state, state.waits)
        return await self._with_children(run, state, children)

    async def _with_children(
        self, run: str, state: RunState, children: Sequence[AwaitedRun]
    ) -> SegmentEnd | None:
        """Return what a run waits for with children that workers execute.

        It goes on when none of them does by itself any more: each time, it records how they stand.
        """
        own = [child for child in children if child.is_submitted and not child.is_over]
        going = tuple(child.wait.run for child in own if child.goes_on)
        news = any(child.is_over for child in children) and (not going or held_back(state))
        if not state.only_waits or news:
            return None
        if not going and any(child.is_news for child in own):
            return None
        parts = [child.wait for child in children if child not in own and not child.is_over]
        if parts:
            end = await self._with_below(run, state, tuple(parts))
            if end is None or (isinstance(end, Parked) and end.seconds is not None):
                return end
        return AwaitsRuns(going) if going else Parked(CHILDREN_S)

    async def _with_below(
        self, run: str, state: RunState, waits: tuple[CallWait, ...]
    ) -> SegmentEnd | None:
        """Return what a run waits for with the runs that are executed as a part of it."""
        apart = state.replace(waits=waits)
        below = [pair async for pair in waited_for(self._storage, run, apart)]
        if len(below) < len(waits):  # one that it waits for has ended
            return None
        for child, found in below:
            if await self._storage.signals.read(child, found.letters):
                return None
        return await self._waiting(run, state, below)

    async def _waiting(
        self, run: str, state: RunState, below: Sequence[tuple[str, RunState]]
    ) -> SegmentEnd | None:
        """Return what a run without signals waits for, with the runs that it waits for."""
        stalled = [
            (one, found) for one, found in ((run, state), *below) if found.phase is RunPhase.STALLED
        ]
        delays = [await self._delay(one, found) for one, found in stalled]
        known = [delay for delay in delays if delay is not None]
        if known:
            return Parked(min(known)) if min(known) > 0 else None
        if state.standing == "open":
            waits = tuple(wait.run for wait in state.waits)
            return AwaitsRuns(waits) if below and state.only_waits else None
        return Parked()

    async def _after_falls(self, run: str, loaded: Loaded) -> SegmentEnd | None:
        """Return how long to leave a run alone whose workers died; None if it can continue."""
        falls, state = falls_of(loaded.lines), loaded.state
        if not falls or await self._storage.signals.read(run, state.letters):
            return None
        delay = delay_after(falls, run)
        if delay is None:
            log.error(
                "run %s is left alone: %d processes died executing it",
                run,
                falls,
                extra={"run": run},
            )
            self.abandoned.add(run)
            return Parked()
        left = delay - (self._world.clock.now() - state.now) / 1000
        return Parked(left) if left > 0 else None

    async def _delay(self, run: str, state: RunState) -> float | None:
        """Return the seconds until a stalled run is tried again, None for never."""
        journal, blobs = self._storage.journal, self._storage.blobs
        head = (await restored(self._storage, run)).head
        records = await journal.read(run, max(0, head.seq - LOOKED_AT))
        delay = delay_of([decode(record.body, blobs.get) for record in records])
        if delay is None:
            return None
        return max(0.0, delay - (self._world.clock.now() - state.now) / 1000)

    async def _cancel(self, run: str, state: RunState, reason: str) -> None:
        """Post the signal that ends a run, once: whichever process executes it takes it.

        Without a reason, it may have been posted.
        """
        kinds = (Cancel,) if reason else ENDING
        ends = await has_signal_of(self._storage.signals, run, state, *kinds)
        if state.phase is not RunPhase.FINISHED and not ends:
            await self._world.send(run, Cancel(reason=reason[:16_000]))
