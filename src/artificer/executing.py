"""Executing the runs of a world, each until it has ended or is idle."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from artificer.agent_definition import AgentDefinition
from artificer.builds.brief import Brief
from artificer.builds.facts import BuildOptions
from artificer.contracts.output import OutputT
from artificer.core.record import EventLine, Line
from artificer.core.signals import Cancel
from artificer.core.state import RunPhase, RunState
from artificer.errors import Fenced, OwnedError
from artificer.ports import BlobStore, Prompt, Record, RecordReader, Storage
from artificer.runs import Run, text_of
from artificer.runtime.engine import Send
from artificer.runtime.late_results import record_ended
from artificer.runtime.load import first_spec, read_chain
from artificer.runtime.snapshot import restored, state_of
from artificer.runtime.waiting import questions_below
from artificer.wiring.assemble import assemble, assemble_recorded, new_build, recorded_provider
from artificer.wiring.conversation import EarlierMessages
from artificer.wiring.dependencies import dependencies
from artificer.wiring.engines import Attendance, idle_engine
from artificer.wiring.families import end_children
from artificer.wiring.instructions import prepared
from artificer.wiring.outputs import output_reader
from artificer.wiring.resources import WorldResources
from artificer.wiring.specs import Recorded

if TYPE_CHECKING:
    from artificer.core.facts import OutputCheck
    from artificer.events import RunEvent
    from artificer.runtime.fork import ForkChanges
    from artificer.runtime.watching.stream import RunStream


async def started(
    resources: WorldResources,
    run_id: str | None,
    prompt: Prompt,
    agent: AgentDefinition[OutputT],
    attendance: Attendance,
    history: EarlierMessages | None,
) -> Run[OutputT]:
    """Start a run with a prompt."""
    run_id = resources.new_run_id(run_id)
    agent, deps = await prepared(agent, run_id, attendance.deps)
    attendance = replace(attendance, deps=deps)
    async with assemble(resources, agent, prompt, attendance, history) as made:
        state = await made.start(resources, run_id)
        return await _run_of(resources.storage, run_id, state, made.engine.judges.check)


async def built(
    resources: WorldResources,
    run_id: str | None,
    prompt: str | Brief,
    agent: AgentDefinition,
    attendance: Attendance,
    project: str | Path,
    options: BuildOptions | None,
) -> Run:
    """Start a build."""
    run_id = resources.new_run_id(run_id)
    made = await new_build(resources, agent, run_id, prompt, project, options)
    async with assemble_recorded(resources, agent, made, attendance) as engine:
        state = await engine.start(run_id, made.spec)
        return await _run_of(resources.storage, run_id, state)


async def resumed(
    resources: WorldResources,
    run_id: str,
    agent: AgentDefinition[OutputT],
    attendance: Attendance,
    take_over: bool = False,
    build_tokens: int | None = None,
    send: Send = None,
) -> Run[OutputT]:
    """Continue a run with the dependencies that were passed to it.

    ``send`` posts a signal to it as soon as nothing prevents it from continuing.
    """
    before, ended = await _ended(resources, run_id, agent, goes_on=send is not None)
    if ended is not None:
        return ended
    wanted = recorded_provider(resources, agent, before.run_spec)
    is_new = before.turn == 1 and before.phase is RunPhase.GENERATING
    recorded = Recorded(run_id, before.run_spec, wanted, build_tokens, is_new)
    attendance = replace(attendance, deps=await dependencies(agent, attendance.deps))
    async with assemble_recorded(resources, agent, recorded, attendance) as engine:
        state = await engine.resume(run_id, take_over=take_over, send=send)
        await end_children(resources, run_id, state)  # if it was cancelled
        return await _run_of(resources.storage, run_id, state, engine.judges.check)


async def forked(
    resources: WorldResources,
    run_id: str,
    new_id: str | None,
    agent: AgentDefinition[OutputT],
    changes: ForkChanges | None,
    attendance: Attendance,
) -> Run[OutputT]:
    """Start a run with the facts of another one."""
    from artificer.wiring.forks import new_fork

    new_id = resources.new_run_id(new_id)
    agent, deps = await prepared(agent, new_id, attendance.deps)
    attendance = replace(attendance, deps=deps)
    fork = await new_fork(resources, agent, run_id, new_id, changes)
    async with assemble_recorded(resources, agent, fork.recorded, attendance) as engine:
        state = await engine.fork(new_id, fork.facts, fork.forked)
        return await _run_of(resources.storage, new_id, state, engine.judges.check)


async def cancelled(resources: WorldResources, run_id: str, signal: Cancel) -> Run:
    """End a run that is idle, or whose process has died."""
    spec = await first_spec(resources.storage.journal, resources.storage.blobs, run_id)
    state = await idle_engine(resources, spec).cancel(run_id, signal.reason, by=signal.by)
    await _tidy(resources, run_id, state)
    return await _run_of(resources.storage, run_id, state)


def streamed(
    resources: WorldResources, run_id: str, execute: Callable[..., Awaitable[Run[OutputT]]]
) -> RunStream[Run[OutputT]]:
    """Return a stream of the events of a run that it executes."""
    from artificer.runtime.watching.stream import RunStream

    return RunStream(partial(resources.reader, run_id), execute)


async def watched(resources: WorldResources, run_id: str, after: int) -> AsyncIterator[RunEvent]:
    """Yield the events of a run; reading starts when the first one is requested."""
    from artificer.runtime.watching.stream import watch

    reader, storage = resources.reader(run_id, after), resources.storage
    text = partial(text_of, blobs=storage.blobs)
    async for event in watch(reader, storage.signals.is_watched, text, resources.project):
        yield event


async def _ended(
    resources: WorldResources, run_id: str, agent: AgentDefinition[OutputT], *, goes_on: bool
) -> tuple[RunState, Run[OutputT] | None]:
    """Return a run's state, and the run if it has ended and gets no more signals."""
    storage = resources.storage
    state = await state_of(storage, run_id)
    goes_on = goes_on or state.phase is not RunPhase.FINISHED
    if goes_on or await storage.signals.read(run_id, state.letters):
        return state, None
    state = await _with_late_results(resources, run_id, state)
    await _tidy(resources, run_id, state)
    reader = output_reader(agent, state.run_spec) if agent.has_output else None
    return state, await _run_of(storage, run_id, state, reader)


async def _with_late_results(resources: WorldResources, run_id: str, state: RunState) -> RunState:
    """Return the state of a finished run that knows what its doubtful calls have come to here."""
    if not state.doubts:
        return state
    engine = idle_engine(resources, state.run_spec)
    left = engine.performer.tool_calls.left_behind(run_id)
    if all(work.alive for _, work in left):
        return state
    with suppress(OwnedError, Fenced):  # another process continues it
        async with engine.writing(run_id, await restored(resources.storage, run_id)) as ledger:
            await record_ended(ledger, engine.performer)
            state = ledger.state
    return state


async def _tidy(resources: WorldResources, run_id: str, state: RunState) -> None:
    """End what is left of a build or a cancelled run, whose process may have died before that."""
    if state.build is None:
        await end_children(resources, run_id, state)
        return
    from artificer.wiring.builds import tidied

    await tidied(idle_engine(resources, state.run_spec), run_id, state, resources.config)


async def _run_of(
    storage: Storage, run_id: str, state: RunState, check: OutputCheck | None = None
) -> Run[Any]:
    """Return a run with its records, and with the value that ``check`` makes of its output.

    Raises:
        AuthorError: the agent rejects now what it accepted before.
    """
    lines = await _records_of(storage, run_id, state)
    below = await questions_below(storage, run_id, state)
    run: Run[Any] = Run(run_id, state, storage.blobs, lines, _questions_below=below)
    if check is None or state.status != "completed" or state.narrative is None:
        return run
    return replace(run, _value=await check.value(state.narrative))


async def _records_of(
    storage: Storage, run_id: str, state: RunState
) -> Callable[[], Iterable[Line]]:
    """Return what reads a run's records up to a state.

    They are read on demand, because a waiting run would keep them for hours.
    """
    journal, blobs = storage.journal, storage.blobs
    read: Callable[[str], list[Record]] | None
    # `isinstance` with a protocol takes 20 µs in Python 3.11.
    read = getattr(journal, RecordReader.records.__name__, None)
    if read is None:
        return partial(read_chain, run_id, await journal.read(run_id), blobs)
    return partial(_read_upto, state, run_id, read, blobs)


def _read_upto(
    reached: RunState, run_id: str, read: Callable[[str], list[Record]], blobs: BlobStore
) -> list[Line]:
    """Read a run's records up to a state. The run may have continued since."""
    state, lines = reached.digest, list(read_chain(run_id, read(run_id), blobs))
    end = len(lines)
    for number in reversed(range(len(lines))):
        line = lines[number]
        if isinstance(line, EventLine):
            if line.state == state:
                return lines[:end]
            end = number
    return lines
