"""Serving a build: what its scheduler wishes for, by runs of models and by a git repository.

Serving a wish again comes to the same: a run has the wish's key in its id, a worktree has a name,
the same merge makes the same commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from artificer.artifacts.completion import Completion
from artificer.artifacts.plan import Plan
from artificer.builds.facts import ConsentGiven, Decided, Fact
from artificer.builds.jobs import (
    AskConsent,
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
from artificer.builds.judge import judged
from artificer.builds.prompt import Instructions, instruct, instruct_judge
from artificer.builds.state import BuildState
from artificer.core.events import BuildAdvanced
from artificer.core.kinds import KINDS, RunKind
from artificer.core.letters import Pause, read_letter
from artificer.core.spec import Limits
from artificer.core.state import Phase, RunState
from artificer.errors import InvariantError
from artificer.runtime.builds.children import Children, Place, place_of
from artificer.runtime.builds.detect import Project
from artificer.runtime.builds.outcome import artifact_of, child_id, judgement_of, returned, short
from artificer.runtime.builds.perform import TreePerformer, keep_for, worktree_name
from artificer.runtime.builds.views import write_artifact
from artificer.values.base import Digest

USUAL_CONTEXT = 64_000
"""Tokens that a model is taken to read when nobody has said how many."""


class Decider(Protocol):
    """Decides for a person who is here, or has decided in advance."""

    async def decide(self, run: str, plan: Plan, wish: AskDecision) -> Decided:
        """Ask about the plan with the wish's digest, and return the decision."""

    async def consent(self, run: str, wish: AskConsent, diff: str) -> ConsentGiven | None:
        """Ask about a change with concerns; None leaves it to a letter."""


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
                said = await self._summary(run, wish)
                return self._told(await self.tree.check(build, wish, self._now() // 1000, said))
            case PrepareBase() | MergeSpec() | RebuildIntegration():
                return self._told(await self.tree.perform(wish))
            case AskDecision() | AskConsent():
                return await self._ask(run, build, wish)
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

    async def signalled(self, state: RunState) -> set[Digest]:
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
            before=await self._before(build, wish),
        )
        ended = await self._drive(run, state, wish, told, place)
        if ended is None:
            return await self._rested(run, wish)
        if wish.step.kind != "code":  # the commit of a code run is still to be made of its tree
            await self.tree.repository.discard(worktree.name)
        return self._told(returned(wish, ended, self.children.blobs), ended)

    async def _before(self, build: BuildState, wish: StartRun) -> str:
        """Return the report of a phase's check before a code run begins, if it fails."""
        phase = build.phase(wish.step)
        if wish.step.kind != "code" or phase is None or phase.phase is None:
            return ""
        found = await self.tree.before(wish.commit, phase.phase.validation_command)
        return "" if found.passed else found.report

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

    async def _summary(self, run: str, wish: Check) -> str:
        """Return the summary of the run whose work a Check is about."""
        state = await self.children.state(f"{run}.{wish.step.kind}-{short(wish.run)}")
        made = artifact_of(state, "completion", self.children.blobs)
        return made.summary if isinstance(made, Completion) else ""

    # --- people, and what is told ----------------------------------------------------------------

    async def _ask(
        self, run: str, build: BuildState, wish: AskDecision | AskConsent
    ) -> BuildAdvanced | None:
        if self.decider is None:
            return None
        fact: Fact | None = None
        if isinstance(wish, AskConsent):
            diff = await self.tree.repository.diff(wish.check.commit, wish.checked.commit)
            fact = await self.decider.consent(run, wish, diff)
        elif build.proposal is not None:
            fact = await self.decider.decide(run, build.proposal, wish)
        return None if fact is None else self._told(fact)

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

    That is held against the build's own budget, before each request of any of them.
    """
    return state.given.limits.replace(cost_micros=None, total_tokens=None)


def _room(limits: Limits) -> int:
    """Tokens that instructions may take: half of a request, for the rest is needed to work."""
    return (limits.context_tokens or USUAL_CONTEXT) // 2
