"""Forks of builds and of their runs: each works in its own repository, copied from theirs."""

from __future__ import annotations

from pathlib import Path

from artificer.artifacts.build_catalog import tool_of
from artificer.builds.jobs import Check, StartRun
from artificer.builds.table import STEP_RULES, Means
from artificer.config import Config
from artificer.core.intents import AdvanceBuild
from artificer.core.kinds import KINDS
from artificer.core.record import IntentLine
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.core.transitions import reduce
from artificer.errors import InvariantError, OperatorError
from artificer.ports import Executor
from artificer.runtime.builds.children import Workplace, executors_of, place_of
from artificer.runtime.builds.detect import detected
from artificer.runtime.builds.outcome import job_run_id
from artificer.runtime.builds.repository import BuildRepository
from artificer.runtime.fork import ForkChanges, ForkPlan
from artificer.runtime.load import load
from artificer.wiring.build_sandbox import grants_of_build
from artificer.wiring.builds import build_folder
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import OpenStorage

_FORK = "refs/build/fork"
_WORKTREE = "fork"


def require_possible(spec: RunSpec, changes: ForkChanges) -> None:
    """Raise OperatorError for a fork that would not begin with what it seems to."""
    message = changes.steer or changes.attachments
    if spec.build is not None and (message or changes.edits or changes.from_start):
        raise OperatorError(
            "A build has no conversation, so a fork cannot change its prompt, edit or steer it.",
            hint="Fork it at an earlier record, or request another plan: artificer build revise.",
        )
    if spec.kind == "code" and spec.parent and (changes.at not in (None, 1) or changes.edits):
        raise OperatorError(
            "A code run can only be forked from its start: its files have changed since.",
            hint="Leave out --at and --edit.",
        )


async def copy_build(config: Config, origin: str, plan: ForkPlan, new: str) -> None:
    """Give the fork of a build what it works in, as it was at the fork.

    Raises:
        NotFoundError: the build's own repository is gone.
    """
    state = RunState()
    for fact in plan.facts:
        state, _ = reduce(state, fact)
    if state.build is None:
        raise InvariantError("This run builds nothing.")
    source, folder = build_folder(config, origin), build_folder(config, new)
    repository = await BuildRepository.copied(source, folder)
    await repository.move_integration(state.build.integration)


async def copy_child(
    storage: OpenStorage, config: Config, child: str, spec: RunSpec, new: str
) -> None:
    """Give the fork of a build's run a worktree like the one that the run began in.

    Raises:
        OperatorError: the build does not know that run.
        NotFoundError: the build, or its repository, is gone.
    """
    build = await load(storage.journal, storage.blobs, spec.parent)
    jobs = [
        line.intent.wish
        for line in build.lines
        if isinstance(line, IntentLine) and isinstance(line.intent, AdvanceBuild)
    ]
    job = next(
        (
            it
            for it in jobs
            if isinstance(it, (StartRun, Check)) and job_run_id(spec.parent, it) == child
        ),
        None,
    )
    if job is None or build.state.build is None:
        raise OperatorError(f"The build {spec.parent} has no run {child}.")
    folder = build_folder(config, new)
    repository = await BuildRepository.copied(build_folder(config, spec.parent), folder)
    found = detected(folder / "project.json", folder)
    worktree = await repository.worktrees.open(_WORKTREE, job.commit)
    place = place_of(build.state.build, job, worktree, found)
    _project_file(folder).write_bytes(place.project.canonical())
    await repository.git.run("update-ref", _FORK, job.commit)


async def tools_of_child(world: WorldResources, run: str, spec: RunSpec) -> list[Executor]:
    """The tools of a fork of a build's run, in its worktree.

    Raises:
        OperatorError: it is not a fork, but a run of a build, which continues with that.
    """
    config, storage = world.config, world.storage
    folder, kind = build_folder(config, run), KINDS[spec.kind].delivers
    delivers = spec.tool(tool_of(kind)) if kind else None
    if not _project_file(folder).is_file() or delivers is None:
        raise OperatorError(
            f"This run belongs to the build {spec.parent}.", hint=f"artificer resume {spec.parent}"
        )
    repository = await BuildRepository.open(folder, folder)
    commit = await repository.git.run("rev-parse", _FORK)
    worktree = await repository.worktrees.open(_WORKTREE, commit)
    project = detected(_project_file(folder), folder)
    rules = next((rules for rules in STEP_RULES.values() if rules.kind == spec.kind), None)
    means: frozenset[Means] = rules.means if rules else frozenset({"read"})  # a judge's
    place = Workplace(worktree.path, project, means)
    output, grants, now = world.clean_blobs, grants_of_build(config), world.clock.now
    found = executors_of(delivers, place, storage.blobs, output, storage.evidence, grants, now)
    return list(found)


def _project_file(folder: Path) -> Path:
    return folder / "fork.json"
