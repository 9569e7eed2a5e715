"""Performing the wishes of a build that are about its tree, and telling what came of them as facts.

Each can be performed again after a crash and comes to the same. No model has a part in any of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from artificer.build.merging import Conflict, fold
from artificer.build.repository import BuildRepository, Committed, Worktree
from artificer.build.validate import Validator
from artificer.loops import facts as f
from artificer.loops.build import BuildState
from artificer.loops.prompt import scope_of
from artificer.loops.wishes import (
    Check,
    MergeSpec,
    PrepareBase,
    RebuildIntegration,
    StartRun,
    StepId,
)
from artificer.values.base import Digest
from artificer.values.text import clip, well_formed

MAX_TOLD = 20
"""Files that a report names one by one."""


@dataclass(frozen=True)
class TreePerformer:
    """Performs PrepareBase, MergeSpec, RebuildIntegration, and the Check of code."""

    repository: BuildRepository
    validator: Validator

    async def worktree(self, run: StartRun) -> Worktree:
        """The worktree of a run: a fresh one for each attempt, as it was left for the same one."""
        name = worktree_name(run.step, run.attempt, run.key)
        return await self.repository.worktree(name, run.commit)

    async def perform(self, wish: PrepareBase | MergeSpec | RebuildIntegration) -> f.Fact:
        """Perform a wish that needs nothing but the tree."""
        match wish:
            case PrepareBase():
                return await self.prepare(wish)
            case MergeSpec():
                return await self.merge(wish)
            case RebuildIntegration():
                return await self.rebuild(wish)

    async def prepare(self, wish: PrepareBase) -> f.BasePrepared | f.BaseRefused:
        """Make the tree that a spec begins from."""
        made = await fold(self.repository.git, wish.base, wish.tips)
        if isinstance(made, Conflict):
            return f.BaseRefused(key=wish.key, report=_conflict(made))
        return f.BasePrepared(key=wish.key, commit=made)

    async def check(self, state: BuildState, wish: Check, at: int) -> f.Checked:
        """Commit what a code run changed in its scope, and validate that commit in a clean tree.

        ``at`` is the time, in seconds. The run's own worktree is not validated: what was left out
        of the commit must not be what makes it pass.
        """
        name = worktree_name(wish.step, wish.attempt, wish.run)
        worktree = await self.repository.worktree(name, wish.commit)
        scope = scope_of(state, wish.step)
        committed = await self.repository.commit(worktree, scope, _title(state, wish.step), at)
        passed, report = await self._validated(
            f"check-{name}", committed.commit, _commands(state, wish.step)
        )
        outside = tuple(well_formed(path) for path in committed.files.outside)
        return f.Checked(
            key=wish.key,
            passed=passed,
            report="" if passed else f"{report}{_left_out(committed)}",
            commit=committed.commit,
            outside=outside[:MAX_TOLD],
            unchanged=committed.unchanged,
        )

    async def merge(self, wish: MergeSpec) -> f.SpecMerged | f.MergeRefused:
        """Merge a spec into the integration branch, if the merged tree passes.

        Where the branch stands is no evidence: a program of the build may have moved it. So a
        merge that is performed again is validated again.
        """
        async with self.repository.lock:
            merged = await fold(self.repository.git, wish.onto, [wish.tip])
            if isinstance(merged, Conflict):
                return f.MergeRefused(key=wish.key, cause="conflict", report=_conflict(merged))
            name = f"merge-{wish.tip.spec}-{wish.key[-8:]}"
            passed, report = await self._validated(name, merged, wish.commands)
            if not passed:
                return f.MergeRefused(key=wish.key, cause="validation", report=report)
            await self.repository.move_integration(merged)  # the record says where it stood
        return f.SpecMerged(key=wish.key, integration=merged)

    async def rebuild(self, wish: RebuildIntegration) -> f.IntegrationRebuilt | f.RebuildRefused:
        """Let the integration branch hold exactly these specs."""
        async with self.repository.lock:
            made = await fold(self.repository.git, wish.base, wish.tips)
            if isinstance(made, Conflict):
                spec = made.tip.spec if made.tip else ""
                return f.RebuildRefused(key=wish.key, spec=spec, report=_conflict(made))
            await self.repository.move_integration(made)
        return f.IntegrationRebuilt(key=wish.key, integration=made)

    async def _validated(self, name: str, commit: str, commands: Sequence[str]) -> tuple[bool, str]:
        """Run commands in a clean worktree of a commit, which is removed afterwards."""
        await self.repository.discard(name)
        worktree = await self.repository.worktree(name, commit)
        try:
            validation = await self.validator.all(commands, worktree.path)
        finally:
            await self.repository.discard(name)
        return validation.passed, validation.report


def worktree_name(step: StepId, attempt: int, run: Digest) -> str:
    """The name of a run's worktree."""
    return f"{step.path.replace('/', '-')}-{attempt}-{run[-8:]}"


def keep_for(state: BuildState) -> set[str]:
    """The worktrees that open wishes still need; all others can be cleaned up."""
    names: set[str] = set()
    for wish in state.open:
        if isinstance(wish, StartRun):
            names.add(worktree_name(wish.step, wish.attempt, wish.key))
        elif isinstance(wish, Check):
            names.add(worktree_name(wish.step, wish.attempt, wish.run))
    return names


def _title(state: BuildState, step: StepId) -> str:
    phase = state.phase(step)
    title = phase.phase.title if phase and phase.phase else step.phase
    return f"{clip(title, 80)}\n\n{step.path}"


def _commands(state: BuildState, step: StepId) -> tuple[str, ...]:
    phase = state.phase(step)
    return (phase.phase.validation_command,) if phase and phase.phase else ()


def _conflict(conflict: Conflict) -> str:
    paths = ", ".join(conflict.paths[:MAX_TOLD])
    which = f" with {conflict.tip.spec}" if conflict.tip else ""
    return f"Merging{which} conflicts in {paths}.\n{conflict.report}".strip()


def _left_out(committed: Committed) -> str:
    """What was changed and is not in the commit: whoever tries again must know."""
    lines = []
    if committed.files.outside:
        some = ", ".join(map(well_formed, committed.files.outside[:MAX_TOLD]))
        count = len(committed.files.outside)
        lines.append(f"Left out, for the phase's scope does not name them ({count}): {some}.")
    lines += [
        f"Not committed: {well_formed(path)} {reason}."
        for path, reason in committed.files.refused[:MAX_TOLD]
    ]
    if committed.unchanged:
        lines.append("Nothing in the phase's scope was changed.")
    return "".join(f"\n\n{line}" for line in lines)
