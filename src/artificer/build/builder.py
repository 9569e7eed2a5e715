"""Serving a build: what its scheduler wishes for, by runs of models and by a git repository.

Serving a wish again comes to the same: a run has the wish's key in its id, a worktree has a name,
the same merge makes the same commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from artificer.artifacts.plan import Plan
from artificer.build.children import Children, Place, place_of
from artificer.build.detect import Project
from artificer.build.outcome import artifact_of, child_id, judgement_of, returned
from artificer.build.perform import TreePerformer, keep_for, worktree_name
from artificer.build.views import write_artifact
from artificer.core.events import BuildAdvanced
from artificer.core.letters import Pause, read_letter
from artificer.core.spec import Limits
from artificer.core.state import Phase, RunState
from artificer.errors import InvariantError
from artificer.loops.build import BuildState
from artificer.loops.facts import Decided, Fact
from artificer.loops.judge import judged
from artificer.loops.kinds import KINDS, RunKind
from artificer.loops.prompt import Instructions, instruct, instruct_judge
from artificer.loops.wishes import (
    AskDecision,
    CancelRun,
    Check,
    MergeSpec,
    PrepareBase,
    RebuildIntegration,
    StartRun,
    Wish,
    is_run,
)
from artificer.values.base import Digest

USUAL_CONTEXT = 64_000
"""Tokens that a model is taken to read when nobody has said how many."""


class Decider(Protocol):
    """Whoever is here to decide about a plan."""

    async def decide(self, run: str, plan: Plan, wish: AskDecision) -> Decided:
        """Ask about the plan with the wish's digest, and return the decision."""


@dataclass(frozen=True)
class TreeBuilder:
    """Serves the wishes of one build (ports.Builder).

    ``project`` is what was found when the build began. ``views`` is where the artifacts of runs
    are written for people. Without a ``decider``, a plan waits for a letter.
    """

    tree: TreePerformer
    project: Project
    children: Children
    prompts: Mapping[str, str]
    views: Path | None = None
    decider: Decider | None = None

    async def serve(self, run: str, state: RunState, wish: Wish) -> BuildAdvanced | None:
        """Serve a wish, and return the fact that answers it; None if there is none to tell now."""
        build = _build(state)
        match wish:
            case StartRun():
                return await self._run(run, state, build, wish)
            case Check() if wish.for_judge:
                return await self._judge(run, state, build, wish)
            case Check():
                at = self._now()
                return self._told(await self.tree.check(build, wish, at // 1000))
            case PrepareBase() | MergeSpec() | RebuildIntegration():
                return self._told(await self.tree.perform(wish))
            case AskDecision():
                return await self._decide(run, build, wish)
            case CancelRun():
                await self.children.end(child_id(run, wish), wish.reason)
        return None

    async def relay(self, run: str, state: RunState, letter: bytes) -> None:
        """Leave a letter for every run of the build that is under way.

        One that rests is not told to pause as well: it would do so again when it is resumed.
        """
        pauses = isinstance(read_letter(letter), Pause)
        for wish in filter(is_run, _build(state).open):
            child = child_id(run, wish)
            if self.children.drives(child) or not pauses:
                await self.children.post(child, letter)

    async def stirred(self, state: RunState) -> set[Digest]:
        """The wishes whose runs rest, and have got letters since."""
        resting = _build(state).resting
        return {rested.key for rested in resting if await self.children.has_letters(rested.run)}

    async def tidy(self, run: str, state: RunState) -> None:
        """End the runs that nobody waits for, and remove worktrees that nobody needs."""
        build = _build(state)
        wanted = {child_id(run, wish) for wish in build.open if isinstance(wish, StartRun | Check)}
        for child in await self.children.unfinished(run):
            if child not in wanted:
                await self.children.end(child, "The build has no use for it any more.")
        await self.tree.repository.clean_up(keep_for(build))

    # --- runs -----------------------------------------------------------------------------------

    async def _run(
        self, run: str, state: RunState, build: BuildState, wish: StartRun
    ) -> BuildAdvanced | None:
        worktree = await self.tree.worktree(wish)
        place = place_of(build, wish, worktree, self.project)
        told = instruct(
            build,
            wish,
            self.prompts,
            room=_room(state.given.limits),
            commands=place.project.allowed,
        )
        ended = await self._drive(run, state, wish, told, place)
        if ended is None:
            return await self._rested(run, wish)
        if wish.step.kind != "code":  # the commit of a code run is still to be made of its tree
            await self.tree.repository.discard(worktree.name)
        return self._told(returned(wish, ended, self.children.blobs), ended)

    async def _judge(
        self, run: str, state: RunState, build: BuildState, wish: Check
    ) -> BuildAdvanced | None:
        name = f"judge-{worktree_name(wish.step, wish.attempt, wish.key)}"
        worktree = await self.tree.repository.worktree(name, wish.commit)
        told = instruct_judge(build, wish, self.prompts, room=_room(state.given.limits))
        place = place_of(build, wish, worktree, self.project)
        ended = await self._drive(run, state, wish, told, place)
        if ended is None:
            return await self._rested(run, wish)
        await self.tree.repository.discard(name)
        return self._told(judged(wish, judgement_of(ended, self.children.blobs)), ended)

    async def _drive(
        self, run: str, state: RunState, wish: StartRun | Check, told: Instructions, place: Place
    ) -> RunState | None:
        """Drive the run of a wish; None if it rests before its end."""
        child = child_id(run, wish)
        kind: RunKind = "judge" if isinstance(wish, Check) else wish.step.kind
        parent = (run, state.given)
        ended = await self.children.drive(child, kind, told, place, parent, _limits(state))
        if ended.phase is not Phase.FINISHED:
            return None
        self._show(child, ended)
        return ended

    async def _rested(self, run: str, wish: StartRun | Check) -> BuildAdvanced:
        return self._told(await self.children.rested(wish.key, child_id(run, wish), run))

    def _show(self, child: str, ended: RunState) -> None:
        """Write what a run made, for people to look at."""
        owes = KINDS[ended.given.kind].owes
        if self.views is None or owes is None:
            return
        artifact = artifact_of(ended, owes, self.children.blobs)
        if artifact is not None:
            write_artifact(self.views / child, child, owes, artifact, ended.now)

    # --- people, and what is told ----------------------------------------------------------------

    async def _decide(self, run: str, build: BuildState, wish: AskDecision) -> BuildAdvanced | None:
        if self.decider is None or build.proposal is None:
            return None
        return self._told(await self.decider.decide(run, build.proposal, wish))

    def _told(self, fact: Fact, ended: RunState | None = None) -> BuildAdvanced:
        """The event of a fact, with what the run behind it has cost."""
        at = self._now()
        if ended is None:
            return BuildAdvanced(at=at, fact=fact)
        return BuildAdvanced(at=at, fact=fact, usage=ended.usage, cost_micros=ended.cost_micros)

    def _now(self) -> int:
        return self.children.engine.performer.clock.now()


def _build(state: RunState) -> BuildState:
    if state.build is None:
        raise InvariantError("This run builds nothing.")
    return state.build


def _limits(state: RunState) -> Limits:
    """The limits of a run: the build's, but for what all its runs may spend together.

    That is held against the build's own purse, before each request of any of them.
    """
    return state.given.limits.model_copy(update={"cost_micros": None, "total_tokens": None})


def _room(limits: Limits) -> int:
    """Tokens that instructions may take: half of a request, for the rest is needed to work."""
    return (limits.context_tokens or USUAL_CONTEXT) // 2
