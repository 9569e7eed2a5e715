"""Performing the jobs of a build that concern its tree, and returning their facts.

Each can be performed again after a crash and comes to the same. No model has a part in any of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from artificer.builds import facts
from artificer.builds.handlers import UNSAID
from artificer.builds.jobs import (
    Check,
    MergeSpec,
    PrepareBase,
    RebuildIntegration,
    StartRun,
    StepId,
)
from artificer.builds.prompt import scope_of
from artificer.builds.state import BuildState
from artificer.runtime.builds.changes import changes_of
from artificer.runtime.builds.evidence.weigh import Validation, Weighed, only_old_failures, weigh
from artificer.runtime.builds.merging import MergeConflict, fold
from artificer.runtime.builds.repository import BuildRepository
from artificer.runtime.builds.validate import Validator
from artificer.runtime.builds.worktrees import CommitResult, Worktree
from artificer.values.base import Digest
from artificer.values.canon import digest_of
from artificer.values.text import clip, well_formed

MAX_LISTED = 20
"""Files that a report names one by one."""


@dataclass(frozen=True)
class TreePerformer:
    """Performs PrepareBase, MergeSpec, RebuildIntegration, and the Check of code."""

    repository: BuildRepository
    validator: Validator
    baselines: dict[tuple[str, str], Validation] = field(default_factory=dict)
    """Results of checks on clean trees of commits, by commit and command."""
    _running: dict[tuple[str, str], asyncio.Lock] = field(default_factory=dict)

    async def worktree(self, run: StartRun) -> Worktree:
        """The worktree of a run: a fresh one for each attempt, as it was left for the same one."""
        name = worktree_name(run.step, run.attempt, run.key)
        return await self.repository.worktrees.open(name, run.commit)

    async def perform(self, job: PrepareBase | MergeSpec | RebuildIntegration) -> facts.Fact:
        """Perform a job that needs nothing but the tree."""
        match job:
            case PrepareBase():
                return await self.prepare(job)
            case MergeSpec():
                return await self.merge(job)
            case RebuildIntegration():
                return await self.rebuild(job)

    async def prepare(self, job: PrepareBase) -> facts.BasePrepared | facts.BaseRefused:
        """Create the tree that a spec starts from."""
        made = await fold(self.repository.git, job.base, job.tips)
        if isinstance(made, MergeConflict):
            return facts.BaseRefused(key=job.key, report=_conflict(made))
        return facts.BasePrepared(key=job.key, commit=made)

    async def before(self, commit: str, line: str) -> Validation:
        """Return a check's result on the tree that a change begins from. It runs there once."""
        async with self._running.setdefault((commit, line), asyncio.Lock()):
            if (commit, line) not in self.baselines:
                name = f"before-{digest_of(f'{commit} {line}'.encode())[-12:]}"
                self.baselines[commit, line] = await self._validated(name, commit, line)
        return self.baselines[commit, line]

    async def check(
        self, state: BuildState, job: Check, at: int, summary: str = ""
    ) -> facts.Checked:
        """Commit what a code run changed in its scope, and validate that commit in a clean tree.

        ``at`` is the time, in seconds; ``summary`` the run's account of its work. The run's own
        worktree is not validated: what was left out of the commit must not be what makes it pass.
        """
        name = worktree_name(job.step, job.attempt, job.run)
        worktree = await self.repository.worktrees.open(name, job.commit)
        scope = scope_of(state, job.step)
        message = message_for(state, job.step, summary)
        committed = await self.repository.worktrees.commit(worktree, scope, message, at)
        checked = facts.Checked(
            key=job.key,
            passed=False,
            commit=committed.commit,
            outside=tuple(map(well_formed, committed.files.outside))[:MAX_LISTED],
            unchanged=committed.unchanged,
            refused=tuple(_refused(committed))[:MAX_LISTED],
        )
        if committed.unchanged and not job.nothing:
            return checked.replace(report=f"{UNSAID}{_left_out(committed)}")
        return await self._weighed(state, job, committed, checked)

    async def _weighed(
        self, state: BuildState, job: Check, committed: CommitResult, checked: facts.Checked
    ) -> facts.Checked:
        """Validate the commit, and weigh that against the same check before it."""
        (line,) = _commands(state, job.step) or ("",)
        if committed.unchanged:  # what it was before is what it is
            before = after = await self.before(job.commit, line)
            weighed = Weighed(after.passed, "" if after.passed else after.report)
        else:
            before = await self.before(job.commit, line)
            name = f"check-{worktree_name(job.step, job.attempt, job.run)}"
            after = await self._validated(name, committed.commit, line)
            self.baselines[committed.commit, line] = after  # the next phase begins from this tree
            changes, reader = await changes_of(self.repository, job.commit, committed, line)
            weighed = weigh(line, before, after, changes, reader)
        counts = (after.counted, before.counted)
        return checked.replace(
            passed=weighed.passed,
            report="" if weighed.passed else f"{weighed.report}{_left_out(committed)}",
            concerns=weighed.concerns,
            notes=weighed.notes,
            tests=counts[0].executed if counts[0] else None,
            tests_before=counts[1].executed if counts[1] else None,
            passed_before=before.passed,
            sandbox=after.sandbox,
        )

    async def merge(self, job: MergeSpec) -> facts.SpecMerged | facts.MergeRefused:
        """Merge a spec into the integration branch, if the merged tree passes.

        Where the branch stands proves nothing: a program of the build may have moved it. So a
        merge that is performed again is validated again.
        """
        async with self.repository.lock:
            merged = await fold(self.repository.git, job.onto, [job.tip])
            if isinstance(merged, MergeConflict):
                return facts.MergeRefused(key=job.key, cause="conflict", report=_conflict(merged))
            name = f"merge-{job.tip.spec}-{job.key[-8:]}"
            report = await self.faults(name, merged, job.commands, job.onto)
            if report:
                return facts.MergeRefused(key=job.key, cause="validation", report=report)
            await self.repository.move_integration(merged)  # the record says where it stood
        return facts.SpecMerged(key=job.key, integration=merged)

    async def rebuild(
        self, job: RebuildIntegration
    ) -> facts.IntegrationRebuilt | facts.RebuildRefused:
        """Rebuild the integration branch from exactly these specs."""
        async with self.repository.lock:
            made = await fold(self.repository.git, job.base, job.tips)
            if isinstance(made, MergeConflict):
                spec = made.tip.spec if made.tip else ""
                return facts.RebuildRefused(key=job.key, spec=spec, report=_conflict(made))
            await self.repository.move_integration(made)
        return facts.IntegrationRebuilt(key=job.key, integration=made)

    async def faults(self, name: str, commit: str, commands: Sequence[str], onto: str) -> str:
        """Return what fails in a merged tree, without the tests that also fail without the merge.

        ``onto`` is the commit that was merged onto. Where nothing had to be merged, the commit is
        one that may have passed all of it already.
        """
        known = [self.baselines.get((commit, line)) for line in commands]
        if all(found is not None and found.passed for found in known):
            return ""
        async with self._clean(name, commit) as folder:
            for line in commands:
                after = await self.validator.one(line, folder)
                if not after.passed and not only_old_failures(await self.before(onto, line), after):
                    return after.report
        return ""

    async def _validated(self, name: str, commit: str, line: str) -> Validation:
        async with self._clean(name, commit) as folder:
            return await self.validator.one(line, folder)

    @asynccontextmanager
    async def _clean(self, name: str, commit: str) -> AsyncIterator[Path]:
        """A clean worktree of a commit, which is removed afterwards."""
        await self.repository.worktrees.discard(name)
        worktree = await self.repository.worktrees.open(name, commit)
        try:
            yield worktree.path
        finally:
            await self.repository.worktrees.discard(name)


def worktree_name(step: StepId, attempt: int, run: Digest) -> str:
    """The name of a run's worktree."""
    return f"{step.path.replace('/', '-')}-{attempt}-{run[-8:]}"


def keep_for(state: BuildState) -> set[str]:
    """The worktrees that open jobs still need; all others can be cleaned up."""
    names: set[str] = set()
    for job in state.open:
        if isinstance(job, StartRun):
            names.add(worktree_name(job.step, job.attempt, job.key))
        elif isinstance(job, Check):
            names.add(worktree_name(job.step, job.attempt, job.run))
    return names


def message_for(state: BuildState, step: StepId, summary: str) -> str:
    """The message of a commit: what was to be done, what the run says it did, whose work it is."""
    phase = state.phase(step)
    title = phase.phase.title if phase and phase.phase else step.phase
    body = f"{summary.strip()}\n\n" if summary.strip() else ""
    return f"{clip(title, 80)}\n\n{body}Build: {state.build}\nStep: {step.path}"


def _commands(state: BuildState, step: StepId) -> tuple[str, ...]:
    phase = state.phase(step)
    return (phase.phase.validation_command,) if phase and phase.phase else ()


def _conflict(conflict: MergeConflict) -> str:
    paths = ", ".join(conflict.paths[:MAX_LISTED])
    which = f" with {conflict.tip.spec}" if conflict.tip else ""
    return f"Merging{which} conflicts in {paths}.\n{conflict.report}".strip()


def _refused(committed: CommitResult) -> Iterator[str]:
    for path, reason in committed.files.refused:
        yield f"{well_formed(path)} {reason}"


def _left_out(committed: CommitResult) -> str:
    """Return a note on changes that are not in the commit: the next attempt must know."""
    lines = []
    if committed.files.outside:
        some = ", ".join(map(well_formed, committed.files.outside[:MAX_LISTED]))
        count = len(committed.files.outside)
        lines.append(f"Left out, for the phase's scope does not name them ({count}): {some}.")
    lines += [f"Not committed: {text}." for text in list(_refused(committed))[:MAX_LISTED]]
    return "".join(f"\n\n{line}" for line in lines)
