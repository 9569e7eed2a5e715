"""From configuration to a build that can be executed: its repository, its project, its decider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from artificer.artifacts.build_catalog import store
from artificer.artifacts.command_line import split_command
from artificer.artifacts.phase import Phase
from artificer.builds.facts import BuildOptions, BuildRequested
from artificer.builds.table import BUILD_TOKENS, RUN_TOKENS
from artificer.config import Config
from artificer.core.spec import Limits
from artificer.core.state import RunState
from artificer.errors import ConfigError, NotFoundError, OperatorError
from artificer.ports import SpendingLimit
from artificer.runtime.builds.builder import Decider, TreeBuilder
from artificer.runtime.builds.children import Children
from artificer.runtime.builds.detect import Project, detected
from artificer.runtime.builds.exclusive_lock import exclusive_lock
from artificer.runtime.builds.perform import TreePerformer
from artificer.runtime.builds.promote import Promotion, holds, promote
from artificer.runtime.builds.prompts import FOLDER, load_prompts
from artificer.runtime.builds.repository import BuildRepository
from artificer.runtime.builds.validate import Validator
from artificer.runtime.engine import Engine
from artificer.runtime.limits.accounts import Account
from artificer.runtime.limits.budgets import Budgets
from artificer.runtime.snapshot import state_of
from artificer.system.home import expanded
from artificer.values.arguments import path as named
from artificer.values.base import JsonValue
from artificer.values.parameters import named_parameters
from artificer.wiring.build_sandbox import grants_of_build
from artificer.wiring.resources import WorldResources
from artificer.wiring.specs import Recorded


@dataclass(frozen=True)
class BuildPlace:
    """Where a build works: its own folder, the repository in it, what was found in the project."""

    folder: Path
    repository: BuildRepository
    project: Project

    @classmethod
    async def open(cls, config: Config, run: str, project: Path) -> BuildPlace:
        """Open a build's folder.

        Raises:
            NotFoundError: it is not here: the build was imported, or someone removed it.
            ConfigError: git is missing or too old.
            GitError: git failed.
        """
        if not (build_folder(config, run) / "repo.git").is_dir():
            raise NotFoundError(
                "The files of this build are missing: it was imported, or its folder was deleted.",
                hint="Continue where it was started; `artificer show RUN --tree` shows its runs.",
            )
        return await cls.make(config, run, project)

    @classmethod
    async def make(cls, config: Config, run: str, project: Path) -> BuildPlace:
        """Make a build's folder from the commit that the project is at, if it is not there.

        Raises:
            NotFoundError: the project is in no git repository, or has no commit.
            ConfigError: git is missing or too old, or the project is a part of a repository.
            GitError: git failed.
        """
        folder = build_folder(config, run)
        repository = await BuildRepository.open(folder, project)
        found = detected(folder / "project.json", project)
        repository.provide(found.links)
        return cls(folder, repository, found)

    def validator(self, world: WorldResources) -> Validator:
        """Return what runs validation commands."""
        return Validator(
            self.project, grants=grants_of_build(world.config), clean=world.redactor.clean
        )


@named_parameters()
@dataclass(frozen=True, eq=False)
class Builds:
    """The builds of a world: their work, and how it comes into their projects."""

    _world: WorldResources

    @property
    def _config(self) -> Config:
        return self._world.config

    async def promote(
        self, run: str, *, branch: str | None = None, into: str | None = None
    ) -> Promotion:
        """Bring a completed build into its project's repository, as a branch (by default
        ``build/RUN``), and into the branch ``into`` if one is named.

        If that branch has new commits, the two are merged and validated first. Uncommitted changes
        are never touched; if something is in the way, ``into`` does not change, and the promotion
        says why. The build's own branch is made in any case.

        Raises:
            OperatorError: the run is not a build, or the build is not completed.
            ConfigError: a branch has no valid name, or ``into`` does not exist.
            GitError: git failed; the branch exists and holds something else.
        """
        state = await self._state(run)
        build, project = state.build, Path(state.run_spec.project)
        if build is None or build.ended != "completed":
            what = "not a build" if build is None else f"{state.standing}, not completed"
            raise OperatorError(f"Run {run} is {what}.", hint=f"artificer explain {run}")
        place = await BuildPlace.open(self._config, run, project)
        commands = tuple(dict.fromkeys(line for spec in build.specs for line in spec.commands))
        return await promote(
            place.repository,
            project,
            build.integration,
            branch or f"build/{run}",
            into=into,
            validator=place.validator(self._world),
            commands=commands,
        )

    async def diff(self, run: str, base: str, commit: str) -> str:
        """Return the difference of two commits of a build. Raises NotFoundError, GitError."""
        project = Path((await self._state(run)).run_spec.project)
        place = await BuildPlace.open(self._config, run, project)
        return await place.repository.diff(base, commit)

    async def _state(self, run: str) -> RunState:
        return await state_of(self._world.storage, run)


async def unpromoted(config: Config, run: str, state: RunState) -> str:
    """Return a sentence about the work of a completed build that is in no branch of its project,
    and would be lost with it; '' for every other run.
    """
    build, folder = state.build, build_folder(config, run)
    if build is None or build.ended != "completed" or not (folder / "repo.git").is_dir():
        return ""
    if build.integration == build.base:
        return ""
    if await holds(Path(state.run_spec.project), build.integration):
        return ""
    specs = ", ".join(build.merged)
    return (
        f"The build {run} was never promoted: its work ({specs}, commit "
        f"{build.integration[:12]}) is in no branch of {state.run_spec.project}, and would be lost."
    )


def project_folder(project: str | Path) -> Path:
    """The folder of a project, to be found from everywhere."""
    return expanded(named("project", project)).absolute()


def require_command(validation: str | None) -> None:
    """Raise ConfigError for a validation command that cannot be run, before anything is made."""
    if validation is not None and isinstance(fault := split_command(validation), str):
        raise ConfigError(
            f"The validation command {validation!r} {fault}.",
            hint="Name one program with its arguments, as in --validation 'python -m pytest -q'.",
        )


def bounded(options: BuildOptions, limits: Limits) -> tuple[BuildOptions, Limits]:
    """The limits of a build, with defaults for those not set."""
    if options.run_tokens is None:
        options = options.replace(run_tokens=RUN_TOKENS)
    if limits.total_tokens is None:
        limits = limits.replace(total_tokens=BUILD_TOKENS[options.size])
    return options, limits


def requested(
    run: str, prompt: str, place: BuildPlace, options: BuildOptions, validation: str | None
) -> BuildRequested:
    """Return the event that begins a build. ``validation`` is the command of a brief one.

    Raises:
        ConfigError: a brief build has no such command.
    """
    brief = None
    if options.size == "brief":
        brief = _brief(prompt, validation or _usual_validation(place.project))
    base = place.repository.base
    return BuildRequested(build=run, request=prompt, base=base, options=options, brief=brief)


def _usual_validation(project: Project) -> str:
    for command in project.commands:
        if command.purpose == "test":
            return command.line
    raise ConfigError(
        "No command that tests this project was found.",
        hint='Name one: --validation "python -m unittest".',
    )


def _brief(prompt: str, validation: str) -> Phase:
    title = prompt.strip().splitlines()[0][:100]
    tasks: list[JsonValue] = [{"description": "Do what the request says."}]
    made = store(
        "create_phase",
        {
            "name": "brief",
            "title": title,
            "objective": title,
            "tasks": tasks,
            "validation_command": validation,
        },
    )
    if not isinstance(made, Phase):
        raise OperatorError("A brief build has only one phase.")
    return made


@asynccontextmanager
async def building(
    engine: Engine, world: WorldResources, recorded: Recorded, decider: Decider | None = None
) -> AsyncIterator[Engine]:
    """The engine of a build, with the builder that performs the jobs of its scheduler.

    Raises:
        ConfigError: a file of instructions cannot be used.
        OperatorError: another process executes the build.
    """
    run, spec, config, storage = recorded.run, recorded.spec, world.config, world.storage
    place = await BuildPlace.open(config, run, Path(spec.project))
    # What the project's people wrote for it comes before what its user wrote for all.
    prompts = load_prompts((Path(spec.project) / ".artificer" / FOLDER, config.home / FOLDER))
    async with exclusive_lock(place.folder, run):
        place.repository.unlock()
        performer = replace(engine.performer, budgets=_budgets(engine, recorded))
        children = replace(engine, performer=performer, _loops={})
        builder = TreeBuilder(
            TreePerformer(place.repository, place.validator(world)),
            place.project,
            Children(children, storage.evidence, world.clean_blobs, grants_of_build(config)),
            prompts,
            config.project_folder / "runs",
            decider,
        )
        yield replace(engine, performer=replace(engine.performer, builder=builder), _loops={})


async def tidied(engine: Engine, run: str, state: RunState, config: Config) -> None:
    """End the runs of a build that was ended from outside, and remove its worktrees.

    A process that executes it can record nothing more; until it notices, the worktrees
    are left to it.
    """
    children = Children(engine)
    for child in await children.unfinished(run):
        await children.end(child, "The build has ended.")
    folder = build_folder(config, run)
    if not folder.is_dir():
        return
    with suppress(OperatorError):
        async with exclusive_lock(folder, run):
            repository = await BuildRepository.open(folder, Path(state.run_spec.project))
            await repository.clean_up()


def build_folder(config: Config, run: str) -> Path:
    """Where a build keeps its repository and its worktrees."""
    return config.project_folder / "builds" / run


def _budgets(engine: Engine, recorded: Recorded) -> Budgets:
    """Return the budgets of a build's runs: those of the world, and one for all of them."""
    limits, spec = recorded.spec.limits, recorded.spec
    limit = SpendingLimit(recorded.build_tokens or limits.total_tokens, limits.cost_micros)
    budgets = engine.performer.budgets
    if limit == SpendingLimit():
        return budgets
    prices = dict(
        zip(spec.full_names, [spec.price, *[m.price for m in spec.fallbacks]], strict=True)
    )
    return budgets.with_account(Account(limit, prices.get, recorded.run))
