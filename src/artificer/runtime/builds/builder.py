"""Performing a build's jobs, with runs of models and a git repository.

Serving a job again comes to the same: a run has the job's key in its id, a worktree has a name,
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
    Job,
    MergeSpec,
    PrepareBase,
    RebuildIntegration,
    StartRun,
    is_run,
)
from artificer.builds.judge import judged
from artificer.builds.prompt import Instructions, instruct, instruct_judge
from artificer.builds.state import BuildState
from artificer.core.events import BuildAdvanced
from artificer.core.kinds import KINDS, RunKind
from artificer.core.signals import Pause, read_signal
from artificer.core.spec import Limits
from artificer.core.state import RunPhase, RunState
from artificer.errors import InvariantError
from artificer.runtime.builds.children import Children, Workplace, place_of
from artificer.runtime.builds.detect import Project
from artificer.runtime.builds.outcome import artifact_of, job_run_id, judgement_of, returned, short
from artificer.runtime.builds.perform import TreePerformer, keep_for, worktree_name
from artificer.runtime.builds.room import require_room
from artificer.runtime.builds.views import write_artifact
from artificer.values.base import Digest

USUAL_CONTEXT = 64_000
"""Tokens that a model is assumed to read where no setting names the number."""


class Decider(Protocol):
    """Decides for a person who is here, or has decided in advance."""

    async def decide(self, run: str, plan: Plan, job: AskDecision) -> Decided:
        """Ask about the plan with the job's digest, and return the decision."""

    async def consent(self, run: str, job: AskConsent, diff: str) -> ConsentGiven | None:
        """Ask about a change with concerns; None leaves it to a signal."""


@dataclass(frozen=True)
class TreeBuilder:
    """Serves the jobs of one build (ports.Builder).

    ``project`` is what was found when the build began. ``views`` is where the artifacts of runs
    are written for people. Without a ``decider``, a plan waits for a signal.
    """

    tree: TreePerformer
    project: Project
    children: Children
    prompts: Mapping[str, str]
    views: Path | None = None
    decider: Decider | None = None

    async def serve(self, run: str, state: RunState, job: Job) -> BuildAdvanced | None:
        """Serve a job, and return the fact that answers it; None if there is none yet."""
        build = _build(state)
        match job:
            case StartRun():
                return await self._run(run, state, build, job)
            case Check() if job.for_judge:
                return await self._judge(run, state, build, job)
            case Check():
                summary = await self._summary(run, job)
                return self._advanced(
                    await self.tree.check(build, job, self._now() // 1000, summary)
                )
            case PrepareBase() | MergeSpec() | RebuildIntegration():
                return self._advanced(await self.tree.perform(job))
            case AskDecision() | AskConsent():
                return await self._ask(run, build, job)
            case CancelRun():
                await self.children.end(job_run_id(run, job), job.reason)
        return None

    async def relay(self, run: str, state: RunState, signal: bytes) -> None:
        """Leave a signal for every run of the build that is in progress.

        An idle run is not paused too: it would pause again when it is resumed.
        """
        pauses = isinstance(read_signal(signal), Pause)
        for job in filter(is_run, _build(state).open):
            child = job_run_id(run, job)
            if self.children.is_running(child) or not pauses:
                await self.children.post(child, signal)

    async def signalled(self, state: RunState) -> set[Digest]:
        """Return the jobs of idle runs that have received signals since."""
        resting = _build(state).resting
        return {entry.key for entry in resting if await self.children.has_signals(entry.run)}

    async def tidy(self, run: str, state: RunState) -> None:
        """End the runs that nobody waits for, and remove worktrees that nobody needs."""
        build = _build(state)
        wanted = {job_run_id(run, job) for job in build.open if isinstance(job, (StartRun, Check))}
        for child in await self.children.unfinished(run):
            if child not in wanted:
                await self.children.end(child, "The build has no use for it any more.")
        await self.tree.repository.clean_up(keep_for(build))

    # --- runs -----------------------------------------------------------------------------------

    async def _run(
        self, run: str, state: RunState, build: BuildState, job: StartRun
    ) -> BuildAdvanced | None:
        worktree = await self.tree.worktree(job)
        require_room(worktree.path)
        place = place_of(build, job, worktree, self.project)
        instructions = instruct(
            build,
            job,
            self.prompts,
            room=_room(state.run_spec.limits),
            commands=place.project.allowed,
            before=await self._before(build, job),
        )
        ended = await self._run_child(run, state, job, instructions, place)
        if ended is None:
            return await self._standing_of(run, job)
        if job.step.kind != "code":  # the commit of a code run is still to be made of its tree
            await self.tree.repository.worktrees.discard(worktree.name)
        return self._advanced(returned(job, ended, self.children.blobs), ended)

    async def _before(self, build: BuildState, job: StartRun) -> str:
        """Return the report of a phase's check before a code run begins, if it fails."""
        phase = build.phase(job.step)
        if job.step.kind != "code" or phase is None or phase.phase is None:
            return ""
        found = await self.tree.before(job.commit, phase.phase.validation_command)
        return "" if found.passed else found.report

    async def _judge(
        self, run: str, state: RunState, build: BuildState, job: Check
    ) -> BuildAdvanced | None:
        name = f"judge-{worktree_name(job.step, job.attempt, job.key)}"
        worktree = await self.tree.repository.worktrees.open(name, job.commit)
        instructions = instruct_judge(build, job, self.prompts, room=_room(state.run_spec.limits))
        place = place_of(build, job, worktree, self.project)
        ended = await self._run_child(run, state, job, instructions, place)
        if ended is None:
            return await self._standing_of(run, job)
        await self.tree.repository.worktrees.discard(name)
        return self._advanced(judged(job, judgement_of(ended, self.children.blobs)), ended)

    async def _run_child(
        self,
        run: str,
        state: RunState,
        job: StartRun | Check,
        instructions: Instructions,
        place: Workplace,
    ) -> RunState | None:
        """Execute the run of a job; None if it becomes idle before its end."""
        child = job_run_id(run, job)
        kind: RunKind = "judge" if isinstance(job, Check) else job.step.kind
        parent = (run, state.run_spec)
        ended = await self.children.run_until_idle(
            child, kind, instructions, place, parent, _limits(state)
        )
        if ended.phase is not RunPhase.FINISHED:
            return None
        self._show(child, ended)
        return ended

    async def _standing_of(self, run: str, job: StartRun | Check) -> BuildAdvanced:
        return self._advanced(await self.children.standing_of(job.key, job_run_id(run, job), run))

    def _show(self, child: str, ended: RunState) -> None:
        """Write what a run made, for people to look at."""
        kind = KINDS[ended.run_spec.kind].delivers
        if self.views is None or kind is None:
            return
        artifact = artifact_of(ended, kind, self.children.blobs)
        if artifact is not None:
            write_artifact(self.views / child, child, kind, artifact, ended.now)

    async def _summary(self, run: str, job: Check) -> str:
        """Return the summary of the run whose work a Check is about."""
        state = await self.children.state(f"{run}.{job.step.kind}-{short(job.run)}")
        made = artifact_of(state, "completion", self.children.blobs)
        return made.summary if isinstance(made, Completion) else ""

    # --- people and reports -------------------------------------------------------------------

    async def _ask(
        self, run: str, build: BuildState, job: AskDecision | AskConsent
    ) -> BuildAdvanced | None:
        if self.decider is None:
            return None
        fact: Fact | None = None
        if isinstance(job, AskConsent):
            diff = await self.tree.repository.diff(job.check.commit, job.checked.commit)
            fact = await self.decider.consent(run, job, diff)
        elif build.proposal is not None:
            fact = await self.decider.decide(run, build.proposal, job)
        return None if fact is None else self._advanced(fact)

    def _advanced(self, fact: Fact, ended: RunState | None = None) -> BuildAdvanced:
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
    return state.run_spec.limits.replace(cost_micros=None, total_tokens=None)


def _room(limits: Limits) -> int:
    """Tokens that instructions may take: half of a request; the other half is for the work."""
    return (limits.context_tokens or USUAL_CONTEXT) // 2
