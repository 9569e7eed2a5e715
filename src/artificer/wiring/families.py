"""One budget for a run and the agents that it calls, and for those that these call."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from artificer.contracts.definition import AGENT_ORIGINS
from artificer.core.events import PromptReceived
from artificer.core.intents import CallTool
from artificer.core.signals import Cancel, Interrupt
from artificer.core.spec import RunSpec
from artificer.core.state import RunPhase, RunState
from artificer.core.submission import Submission
from artificer.errors import ArtificerError, Fenced, NotFoundError, OwnedError
from artificer.ports import SpendingLimit
from artificer.runtime.ending import has_signal_of
from artificer.runtime.engine import Engine, Outdated
from artificer.runtime.family import agent_calls
from artificer.runtime.limits.budgets import NO_BUDGETS
from artificer.runtime.load import first_spec, load
from artificer.runtime.outcome import Outcome
from artificer.runtime.snapshot import state_of
from artificer.values.blocks import ToolResultBlock
from artificer.values.release import RELEASE
from artificer.wiring.engines import idle_engine
from artificer.wiring.readiness import require, require_secrets
from artificer.wiring.resources import WorldResources


class Assembly(Struct, frozen=True):
    """A run that can start: its spec, the engine that executes it, and the blobs that it cites."""

    spec: RunSpec
    engine: Engine
    blobs: tuple[bytes, ...] = ()

    async def start(self, world: WorldResources, run: str, outdated: Outdated = None) -> RunState:
        """Start it, within the limits of its ancestors, and return its state when it is idle.

        Raises MissingExtraError, NotFoundError or ConfigError if it needs what is not here: an
        SDK, a model, a secret.
        """
        performer = self.engine.performer
        require(performer.provider)
        await require_secrets(world.secrets, self.spec, performer.provider, performer.executors)
        engine = await with_family(world, self.engine, run, self.spec)
        state = await engine.start(run, self.spec, self.blobs, outdated)
        await end_children(world, run, state)
        return state

    async def submit(self, run: str, submission: Submission) -> None:
        """Record its beginning; workers execute it. Raises ExistsError if it is there."""
        spec = self.spec.replace(submission=submission)
        async with self.engine.writing(run, None) as ledger:
            at = self.engine.performer.clock.now()
            event = PromptReceived(at=at, spec=spec, release=RELEASE)
            await ledger.commit(event, outcomes=[Outcome(event, self.blobs)])


async def with_family(world: WorldResources, engine: Engine, run: str, spec: RunSpec) -> Engine:
    """Return the engine of a run whose requests are held against the limits of its ancestors too.

    Each run that has limits and calls agents has an account, which all runs below it share. The
    ancestors follow from the records, so a resumed run finds the same accounts.
    """
    budgets = engine.performer.budgets
    if budgets is NO_BUDGETS:
        return engine
    ancestor: RunSpec | None = spec
    while ancestor is not None:
        if (limit := shared_limit(ancestor)) is not None:
            budgets = budgets.with_account(world.tree_account(run, limit))
        parent = parent_of(run, ancestor)
        ancestor = await _spec(world, parent) if parent else None
        run = parent
    if budgets is engine.performer.budgets:
        return engine
    return replace(engine, performer=replace(engine.performer, budgets=budgets), _loops={})


def shared_limit(spec: RunSpec) -> SpendingLimit | None:
    """Return what a run and its children may spend together; None if that has no limit."""
    limit = SpendingLimit(spec.limits.total_tokens, spec.limits.cost_micros)
    return limit if _calls_agents(spec) and limit != SpendingLimit() else None


def parent_of(run: str, spec: RunSpec) -> str:
    """Return the run whose model called this one's agent; empty if there is none.

    A fork of a child has its own name, and is nobody's child.
    """
    ours = spec.parent and not spec.belongs_to_build and run.startswith(f"{spec.parent}.")
    return spec.parent if ours else ""


async def end_children(world: WorldResources, run: str, state: RunState) -> None:
    """End the runs that calls have left open whose answer nobody reads, and those below them.

    These are all calls of a cancelled run, those before a follow-up that continued it, and those
    of a run that was taken over: its former owner would execute them still. A crash may come
    before their end; so this is done whenever someone looks after such a run.
    """
    if why := caller_ended(state):
        await _end_called(world, run, state.run_spec, lambda _: why)
    elif left := _left_calls(state):
        await _end_called(world, run, state.run_spec, left.get)


async def end_submitted(world: WorldResources, run: str, why: str) -> bool:
    """End a run that workers execute, as far as this needs none; return whether it has ended.

    One that has got a signal to end, as it has without a reason, takes that with a worker. Only the
    runs that it has called end here: they may have all the workers. Raises NotFoundError,
    TamperedError.
    """
    storage = world.storage
    state = await state_of(storage, run)
    if why and not await has_signal_of(storage.signals, run, state, Cancel):
        return await end_child(world, run, state, why)
    ends = "The run that called it is to end."
    await _end_called(world, run, state.run_spec, lambda _: ends, apart=True)
    return False


async def _end_called(
    world: WorldResources,
    run: str,
    spec: RunSpec,
    why_of: Callable[[str], str | None],
    *,
    apart: bool = False,
) -> None:
    """End the runs of a run's calls for which there is a reason: all of them, or those that are
    executed ``apart`` from it.
    """
    if not _calls_agents(spec):
        return
    storage = world.storage
    lines = (await load(storage.journal, storage.blobs, run)).lines
    for child, intent in agent_calls(run, lines).items():
        why = why_of(intent.call_id)
        if why is None:
            continue
        try:
            found = (await load(storage.journal, storage.blobs, child)).state
        except ArtificerError:  # it has not begun, was pruned, or cannot be read
            continue
        if found.run_spec.parent == run and (found.run_spec.submission or not apart):
            await end_child(world, child, found, why)


async def end_child(world: WorldResources, run: str, state: RunState, why: str) -> bool:
    """End a run and those below it; return whether it has ended, not only about to end."""
    try:
        take_over = state.run_spec.submission is None
        engine = idle_engine(world, state.run_spec)
        ended = await engine.cancel(run, why, take_over=take_over)
    except (OwnedError, Fenced):  # a worker executes it, and ends it with what is in progress
        await send_once(world, run, state, Cancel(reason=why))
        return False
    await end_children(world, run, ended)
    return True


async def unsettled_calls(world: WorldResources, run: str) -> list[str]:
    """Return the calls that a run, and those below it, may have made, each with its run.

    They have no result, or nobody knows it, and they were not without effects. Of an agent's call,
    its own run says more.
    """
    storage, found, waiting = world.storage, list[str](), [(run, "")]
    for run, caller in waiting:
        try:
            loaded = await load(storage.journal, storage.blobs, run)
        except ArtificerError:  # it has not begun, was pruned, or cannot be read
            continue
        state = loaded.state
        if caller and state.run_spec.parent != caller:
            continue
        below = agent_calls(run, loaded.lines)
        waiting += [(child, run) for child in below]
        agents = {intent.tool for intent in below.values()}
        tools = [doubt.tool for doubt in state.doubts]
        tools += [i.tool for i in loaded.open if isinstance(i, CallTool) and i.effect != "pure"]
        found += [f"{tool} in the run {run}" for tool in tools if tool not in agents]
    return found


INTERRUPTED = "The run that called it was interrupted."


def caller_ended(caller: RunState) -> str:
    """Return why a run has no use any more: its caller was ended. Empty if it was not."""
    ended = caller.phase is RunPhase.FINISHED and caller.reason in ("cancelled", "interrupted")
    return f"The run that called it was {caller.reason}." if ended else ""


async def send_once(
    world: WorldResources, run: str, state: RunState, signal: Cancel | Interrupt
) -> None:
    """Send a run a signal that ends it, unless it has ended or is about to."""
    kinds = (Cancel,) if isinstance(signal, Cancel) else (Cancel, Interrupt)
    if state.phase is RunPhase.FINISHED or await has_signal_of(
        world.storage.signals, run, state, *kinds
    ):
        return
    await world.storage.signals.post(run, signal.canonical())


_LEFT = {
    "cancelled": "Its call was cancelled.",
    "ambiguous": "The run that called it continued without its answer.",
    "timeout": "The time of the call that began it was up.",
}
"""Why the run of a call is ended, by the status of the call's result."""


def _left_calls(state: RunState) -> dict[str, str]:
    """Return the calls whose answer nobody reads, each with the reason."""
    if not _calls_agents(state.run_spec):
        return {}
    results = (b for m in state.history for b in m.blocks if isinstance(b, ToolResultBlock))
    return {each.tool_use_id: _LEFT[each.status] for each in results if each.status in _LEFT}


def _calls_agents(spec: RunSpec) -> bool:
    return any(tool.origin in AGENT_ORIGINS for tool in spec.tools().tools)


async def _spec(world: WorldResources, run: str) -> RunSpec | None:
    """Return the spec of an ancestor; None if it is not in this world, or was pruned."""
    try:
        return await first_spec(world.storage.journal, world.storage.blobs, run)
    except NotFoundError:
        return None
