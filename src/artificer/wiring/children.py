"""Agents that are called as tools: each call is its own run, a child of the caller's run.

The caller's process executes it, and a call takes as long as its run: that is cancelled when the
time of the call is up. Where workers execute the caller, the child is submitted to them: the call
waits, and is performed again when the child has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from artificer.agent_definition import AgentDefinition, AgentTool, ExecutedTool, Tool
from artificer.artifacts.deliverable import Deliverable
from artificer.artifacts.handover import Handover
from artificer.contracts.definition import HANDOFF_ORIGIN, ToolDefinition
from artificer.core.idle import is_idle
from artificer.core.rules import since
from artificer.core.signals import Interrupt
from artificer.core.spec import Limits, RunSpec
from artificer.core.state import RunPhase, RunState
from artificer.core.waits import idle_standing
from artificer.errors import ExistsError, Fenced, OperatorError, OwnedError
from artificer.ports import Call, IdleRun, Provider, Receipt
from artificer.runtime.engine import Engine
from artificer.runtime.family import child_id
from artificer.runtime.snapshot import state_of
from artificer.runtime.waiting import may_continue
from artificer.values.arguments import MAX_RUN_ID
from artificer.values.blocks import CallStatus, Message
from artificer.values.refusal import not_ok
from artificer.wiring.dependencies import dependencies, dependencies_of_child
from artificer.wiring.engines import Attendance
from artificer.wiring.families import (
    INTERRUPTED,
    Assembly,
    caller_ended,
    end_child,
    end_children,
    send_once,
    unsettled_calls,
)
from artificer.wiring.instructions import prepared
from artificer.wiring.resources import WorldResources
from artificer.wiring.specs import Recorded


class Assemblers(Struct, frozen=True):
    """The functions that assemble new and recorded runs, and find the provider of one."""

    new: Callable[..., AbstractAsyncContextManager[Assembly]]
    recorded: Callable[..., AbstractAsyncContextManager[Engine]]
    provider: Callable[[WorldResources, AgentDefinition[Any], RunSpec], Provider]


def with_children(
    world: WorldResources, tools: Iterable[Tool], attendance: Attendance, assemblers: Assemblers
) -> Iterator[ExecutedTool]:
    """Yield the tools of an agent, with an executor for each that is an agent itself."""
    for tool in tools:
        if isinstance(tool, AgentTool):
            yield ChildExecutor(world, tool, attendance, assemblers)
        else:
            yield tool


class ChildExecutor(Struct, frozen=True):
    """Performs the calls of an agent that is a tool. The approver is that of the caller's run."""

    world: WorldResources
    tool: AgentTool
    attendance: Attendance
    assemblers: Assemblers

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """The definition of the agent as a tool."""
        return (self.tool.definition,)

    async def execute(self, call: Call) -> Receipt:
        """Start the run of a call, or continue the one that was started before a crash.

        It is cancelled when the time of the call is up.

        Raises OperatorError if that run cannot begin, or is not one of this call.
        """
        run = child_id(call.run, call.definition.name, call.key)
        if len(run) > MAX_RUN_ID and not await self._has_begun(run):
            raise OperatorError(
                f"The id of its run would have {len(run)} characters, and {MAX_RUN_ID} are the "
                "limit: too many agents call one another, or their names are too long."
            )
        limit = asyncio.timeout(call.definition.timeout_ms / 1000)
        try:
            async with limit:
                state = await self._continued(run, call)
        except TimeoutError:
            if not limit.expired():
                raise
            return await self._cut_off(run, call)
        if state is None:
            return _open(run)
        await end_children(self.world, run, state)
        return await self._receipt(run, call, state)

    async def _continued(self, run: str, call: Call) -> RunState | None:
        """Continue the run of a call until it is idle; None if a worker is about to begin it."""
        try:
            state = await self._submitted(run, call) if self.attendance.submits else None
            return await self._executed(run, call) if state is None else state
        except (OwnedError, Fenced):  # another process executes it, and the call waits for that
            if self.attendance.submits and not await self._has_begun(run):
                return None
            return await self._state(run)

    async def _cut_off(self, run: str, call: Call) -> Receipt:
        """End the run of a call whose time is up. One that workers execute has its own limit."""
        within = f"within {call.definition.timeout_ms / 1000:g} s"
        if not await self._has_begun(run):
            content = f"The run {run} of this agent did not begin {within}."
            return Receipt(status="timeout", content=content)
        state = await self._state(run)
        if self.attendance.submits and state.run_spec.submission is not None:
            return _open(run)
        unsure = await unsettled_calls(self.world, run)  # a part of them is `cancelled` after that
        await end_child(self.world, run, state, "The time of the call that began it was up.")
        return await self._receipt(run, call, await self._state(run), within, unsure)

    async def signalled(self, run: str) -> bool:
        """Whether the run of a call, or one that it waits for, has got signals.

        Where workers execute it, these take them, and only its end matters.
        """
        if self.attendance.submits:
            state = await self._state(run)
            if state.run_spec.submission is not None:
                return state.phase is RunPhase.FINISHED
        return await may_continue(self.world.storage, run)

    async def interrupt(self, call: Call) -> None:
        """Interrupt the run of a call. One that has not begun learns it from its caller."""
        run = child_id(call.run, call.definition.name, call.key)
        if await self._has_begun(run):
            signal = Interrupt(reason=INTERRUPTED)
            await send_once(self.world, run, await self._state(run), signal)

    @property
    def _takes_over(self) -> bool:
        return self.tool.definition.origin == HANDOFF_ORIGIN

    async def _executed(self, run: str, call: Call) -> RunState:
        """Execute the run of a call here, until it is idle."""
        deps = await dependencies_of_child(self.tool, call, self.attendance.deps)
        if await self._has_begun(run):
            if (await self._state(call.run)).hold == "interrupt":
                return await self._left(run)
            return await self._resume(run, deps)
        async with self._assembled(run, call, await self._state(call.run), deps) as made:
            # It takes a while to assemble it, and who ended its caller meanwhile saw no run.
            return await made.start(self.world, run, partial(self._outdated, call.run))

    async def _left(self, run: str) -> RunState:
        """Leave a run as it is whose caller is interrupted; end one that a crash has stopped."""
        state = await self._state(run)
        if is_idle(state):
            return state
        await end_child(self.world, run, state, INTERRUPTED)
        return await self._state(run)

    async def _outdated(self, caller: str) -> str:
        state = await self._state(caller)
        return INTERRUPTED if state.hold == "interrupt" else caller_ended(state)

    async def _submitted(self, run: str, call: Call) -> RunState | None:
        """Return how the run of a call stands that workers execute: it is submitted once.

        None for one that began as a part of its caller, or is to be. Nobody cuts the call off, so
        the run has no more time than the call.
        """
        if not await self._has_begun(run):
            parent = await self._state(call.run)
            submission = parent.run_spec.submission
            if submission is None or not since(parent.run_spec, 3):
                return None
            deps = await dependencies_of_child(self.tool, call, self.attendance.deps)
            async with self._assembled(run, call, parent, deps) as made:
                limits = made.spec.limits
                wall_ms = min(limits.wall_ms, call.definition.timeout_ms)
                spec = made.spec.replace(limits=limits.replace(wall_ms=wall_ms))
                with suppress(ExistsError):  # one who had lost the caller was a moment faster
                    await replace(made, spec=spec).submit(run, submission)
        state = await self._state(run)
        if state.run_spec.submission is None:
            return None
        if state.run_spec.parent != call.run:
            raise OperatorError(f"There is a run {run!r} that this call has not begun.")
        return state

    async def _has_begun(self, run: str) -> bool:
        return bool(await self.world.storage.journal.read(run, limit=1))

    @asynccontextmanager
    async def _assembled(
        self, run: str, call: Call, parent: RunState, passed: Any
    ) -> AsyncIterator[Assembly]:
        """Assemble the run of a call, bounded by what its caller has left."""
        prompt = str(call.arguments["prompt"])
        agent, deps = await prepared(self.tool.agent, run, passed)
        attendance = Attendance(self.attendance.approver, deps=deps)
        before = ConversationSoFar(call.run, parent) if self._takes_over else None
        async with self.assemblers.new(self.world, agent, prompt, attendance, before) as made:
            limits = bounded(made.spec.limits, parent)
            spec = made.spec.replace(parent=call.run, limits=limits, taint=parent.taint)
            yield replace(made, spec=spec)

    async def _resume(self, run: str, passed: Any) -> RunState:
        agent, spec = self.tool.agent, (await self._state(run)).run_spec
        recorded = Recorded(run, spec, self.assemblers.provider(self.world, agent, spec))
        deps = await dependencies(agent, passed)
        attendance = Attendance(self.attendance.approver, deps=deps)
        async with self.assemblers.recorded(self.world, agent, recorded, attendance) as engine:
            return await engine.resume(run)

    async def _state(self, run: str) -> RunState:
        return await state_of(self.world.storage, run)

    async def _receipt(
        self, run: str, call: Call, state: RunState, within: str = "", unsure: Sequence[str] = ()
    ) -> Receipt:
        """Return the result of a call whose run is idle. ``within`` is its time, if that was up.

        Without a complete answer it is ``ambiguous`` if the run may have done something of which
        nobody knows: the model would begin another run, which would do it again.
        """
        handover: Handover | None = None
        status: CallStatus = "timeout" if within else "error"
        why = f"did not end {within}, and " if within else ""
        content = f"The run {run} of this agent {why}is {state.standing}."
        if state.deliverable is not None:
            delivered = Deliverable.read(self.world.storage.blobs.get(state.deliverable))
            content = f"{content} {delivered.note}\n{delivered.narrative}".rstrip()
            if delivered.status == "completed":
                status, content = "ok", delivered.narrative
                if self._takes_over:
                    content = f"Its answer is that of the run {run}, which took over."
                    handover = Handover(
                        run=run, narrative=delivered.narrative, artifacts=delivered.artifacts
                    )
        if status != "ok" and state.phase is RunPhase.FINISHED:
            unsure = unsure or await unsettled_calls(self.world, run)
            if unsure:
                status = "ambiguous"
                content = not_ok(status, f"{call.definition.name}: {content} {_unsure(unsure)}")
        return Receipt(
            status=status,
            content=content,
            usage=state.usage,
            cost_micros=state.cost_micros,
            taint=state.taint,
            handover=handover,
            idle=None if state.phase is RunPhase.FINISHED else _idle(run, state),
        )


def _unsure(calls: Sequence[str]) -> str:
    return (
        f"These calls may have happened, wholly, in part or not at all: {', '.join(calls)}. "
        "Find out before you repeat them."
    )


def _open(run: str) -> Receipt:
    return Receipt(status="error", content="", idle=IdleRun(run=run, standing="open"))


def _idle(run: str, state: RunState) -> IdleRun:
    return IdleRun(run=run, standing=idle_standing(state.standing))


class ConversationSoFar(Struct, frozen=True):
    """The conversation of a run whose model calls an agent, without the reply that does."""

    id: str
    state: RunState

    @property
    def messages(self) -> tuple[Message, ...]:
        """Its messages; each call in them is answered."""
        return tuple(self.state.history)[:-1]


def bounded(own: Limits, parent: RunState) -> Limits:
    """Return a child's limits: its own, within the tokens and dollars that its parent has left."""
    limits, used = parent.run_spec.limits, parent.usage.input_tokens + parent.usage.output_tokens
    return own.replace(
        total_tokens=_least(own.total_tokens, limits.total_tokens, used),
        cost_micros=_least(own.cost_micros, limits.cost_micros, parent.cost_micros or 0),
    )


def _least(own: int | None, limit: int | None, used: int) -> int | None:
    left = own if limit is None else max(1, limit - used)
    return left if own is None or left is None else min(own, left)
