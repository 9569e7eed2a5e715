"""One budget for a run and the agents that it calls, and for those that these call."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from artificer.contracts.definition import AGENT_ORIGINS
from artificer.core.events import PromptReceived
from artificer.core.signals import Cancel
from artificer.core.spec import RunSpec
from artificer.core.state import RunPhase, RunState
from artificer.core.submission import Submission
from artificer.errors import ArtificerError, Fenced, NotFoundError, OwnedError
from artificer.ports import SpendingLimit
from artificer.runtime.budgets import NO_BUDGETS
from artificer.runtime.engine import Engine
from artificer.runtime.family import called
from artificer.runtime.load import first_spec, load
from artificer.runtime.outcome import Outcome
from artificer.runtime.signals import has_signal
from artificer.values.release import RELEASE
from artificer.wiring.engines import idle_engine
from artificer.wiring.readiness import require, require_secrets
from artificer.wiring.resources import WorldResources


class Assembly(Struct, frozen=True):
    """A run that can start: its spec, the engine that executes it, and the blobs that it cites."""

    spec: RunSpec
    engine: Engine
    blobs: tuple[bytes, ...] = ()

    async def start(self, world: WorldResources, run: str) -> RunState:
        """Start it, within the limits of its ancestors, and return its state when it is idle.

        Raises MissingExtraError, NotFoundError or ConfigError where it needs what is not here: an
        SDK, a model, a secret.
        """
        performer = self.engine.performer
        require(performer.provider)
        await require_secrets(world.secrets, self.spec, performer.provider, performer.executors)
        engine = await with_family(world, self.engine, run, self.spec)
        state = await engine.start(run, self.spec, self.blobs)
        await end_children(world, run, state)
        return state

    async def submit(self, run: str, submission: Submission) -> None:
        """Record its beginning; workers execute it. Raises ExistsError where it is there."""
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
    """Return what a run and its children may spend together; None where that has no limit."""
    limit = SpendingLimit(spec.limits.total_tokens, spec.limits.cost_micros)
    return limit if _calls_agents(spec) and limit != SpendingLimit() else None


def parent_of(run: str, spec: RunSpec) -> str:
    """Return the run whose model called this one's agent; empty if there is none.

    A fork of a child has a name of its own, and is nobody's child.
    """
    ours = spec.parent and not spec.belongs_to_build and run.startswith(f"{spec.parent}.")
    return spec.parent if ours else ""


async def end_children(world: WorldResources, run: str, state: RunState) -> None:
    """End the runs that the calls of a cancelled run have left open, and those below them.

    A crash may come before their end; so this is done whenever somebody looks after such a run.
    """
    if state.reason not in ("cancelled", "interrupted") or not _calls_agents(state.run_spec):
        return
    storage = world.storage
    lines = (await load(storage.journal, storage.blobs, run)).lines
    for child in called(run, lines):
        try:
            found = (await load(storage.journal, storage.blobs, child)).state
        except ArtificerError:  # it has not begun, was pruned, or cannot be read
            continue
        if found.run_spec.parent != run:
            continue
        why = caller_ended(state)
        try:
            take_over = found.run_spec.submission is None
            ended = await idle_engine(world).cancel(child, why, take_over=take_over)
        except (OwnedError, Fenced):  # a worker executes it, and ends it with what is under way
            await _have_it_end(world, child, found, why)
            continue
        await end_children(world, child, ended)


def caller_ended(caller: RunState) -> str:
    """Return why a run has no use any more: its caller was ended. Empty where it was not."""
    ended = caller.phase is RunPhase.FINISHED and caller.reason in ("cancelled", "interrupted")
    return f"The run that called it was {caller.reason}." if ended else ""


async def _have_it_end(world: WorldResources, run: str, state: RunState, why: str) -> None:
    """Send a run the signal that ends it, once."""
    signals = world.storage.signals
    if not await has_signal(signals, run, state, Cancel):
        await signals.post(run, Cancel(reason=why).canonical())


def _calls_agents(spec: RunSpec) -> bool:
    return any(tool.origin in AGENT_ORIGINS for tool in spec.tools().tools)


async def _spec(world: WorldResources, run: str) -> RunSpec | None:
    """Return the spec of an ancestor; None if it is not in this world, or was pruned."""
    try:
        return await first_spec(world.storage.journal, world.storage.blobs, run)
    except NotFoundError:
        return None
