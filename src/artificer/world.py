"""A world: one project's runs.

>>> async with await World.open() as world:
...     run = await world.run("Say hello.", model="local/smollm2")
...     print(run.text)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from artificer.archive import Archive
from artificer.builds.facts import BuildOptions
from artificer.config import Config, load_config
from artificer.contracts.capabilities import Facilities
from artificer.contracts.response_format import OutputCheck, ResponseFormat
from artificer.core.events import RunForked
from artificer.core.kinds import RunKind
from artificer.core.policy import Policy
from artificer.core.spec import Limits, RunSpec
from artificer.core.state import Phase, RunState
from artificer.errors import ConfigError, OperatorError
from artificer.ports import Amount, Approver, Correction, Provider, Requiring
from artificer.runs import Run
from artificer.runtime.budgets import day_of
from artificer.runtime.engine import Engine
from artificer.runtime.fork import ForkPlan, Wish, origin_of, plan_fork
from artificer.runtime.keeping import Prunable, remove_views
from artificer.runtime.load import Loaded, load
from artificer.runtime.observe import Observer
from artificer.runtime.snapshot import restore
from artificer.runtime.verify import cited
from artificer.system import SystemClock
from artificer.values.model import ToolChoice
from artificer.wiring.engines import build_engine, compaction_prompt, system_prompt
from artificer.wiring.policies import must_fit, tools_of_builds
from artificer.wiring.providers import build_provider, choose_model, wire_of
from artificer.wiring.servers import build_servers
from artificer.wiring.specs import (
    check_of,
    checked_format,
    checked_tools,
    limits_for,
    limits_of,
    make_spec,
    price_of,
    typed,
)
from artificer.wiring.storage import open_storage
from artificer.wiring.toolbox import Tool, ToolBox, build_tools, located

if TYPE_CHECKING:
    from artificer.runtime.builds.builder import Decider
    from artificer.runtime.builds.promote import Promotion


class World(Archive):
    """One project's journal and blobs, and the runs in them."""

    @classmethod
    async def open(cls, config: Config | None = None) -> Self:
        """Open the world of this project, as ``artificer.toml`` and the environment say.

        It is made when it is not there.
        """
        config = config or load_config()
        return cls(config, await open_storage(config))

    async def run(
        self,
        prompt: str,
        *,
        model: str | Provider | None = None,
        kind: RunKind = "chat",
        tools: Iterable[Tool] = (),
        policy: Policy | None = None,
        limits: Limits | None = None,
        system: str | None = None,
        choices: Sequence[ToolChoice] | None = None,
        temperature: str | None = None,
        response_format: ResponseFormat | Mapping[str, Any] | type[Any] | None = None,
        offer: Iterable[str] | None = None,
        facilities: Facilities | None = None,
        approver: Approver | None = None,
        observer: Observer | None = None,
        run_id: str | None = None,
    ) -> Run:
        """Run a prompt to its end. ``offer`` narrows the toolset to the tools it names, and
        ``facilities`` take the place of those that are configured.

        With a ``response_format`` (a JSON Schema, or a type that has one) a chat ends in JSON that
        fits it, :attr:`Run.output`, or it has failed.

        A model that cannot be reached is not an exception: the run is then ``stalled``, and
        :meth:`resume` goes on with it. Without an ``approver`` a run is ``waiting`` when policy
        asks about a call: :meth:`send` it an answer, then resume it.

        Raises:
            ConfigError: no model was named, its provider is unknown, or ``offer`` or ``choices``
                name a tool that is not there.
            AuthorError: a tool, or an argument of this call, cannot be used.
            MissingExtraError: the provider's SDK is not installed.
        """
        tools = checked_tools(tools, kind)
        asked = None if response_format is None else checked_format(response_format, kind)
        facilities = located(self.config.facilities if facilities is None else facilities)
        provider, name = choose_model(model, self.config)
        model_name = f"{provider.name}/{name}"
        limits = limits_of(kind, limits, self.config, model_name)
        async with build_servers(self.config, self._storage) as servers:
            box = build_tools(
                [*self.config.tools, *tools, *await servers.offered()],
                kind=kind,
                storage=self._storage,
                config=self.config,
                servers=servers,
                facilities=facilities,
            ).narrowed(offer)
            box.must_offer(choices or ())
            must_fit(policy or self.config.policy, box.toolset)
            spec = make_spec(
                kind=kind,
                prompt=prompt,
                system=system_prompt(kind) if system is None else system,
                provider=provider.name,
                wire=wire_of(provider),
                model=name,
                toolset=box.toolset.to_text(),
                sources=box.folders,
                facilities=facilities,
                policy=policy or self.config.policy,
                limits=limits,
                price=price_of(model_name, limits, self.config),
                choices=tuple(choices or (ToolChoice(),)),
                temperature=temperature,
                compaction=compaction_prompt(),
                caching=self.config.prompt_caching,
                response_format=asked,
            )
            engine = build_engine(
                self._storage,
                provider,
                box,
                self.config,
                approver=approver,
                observer=observer,
                policy=spec.policy,
                check=check_of(asked, typed(response_format)),
            )
            run_id = run_id or SystemClock().new_run_id()
            try:
                return self._run(run_id, await engine.start(run_id, spec))
            finally:
                await provider.aclose()

    async def build(
        self,
        request: str,
        *,
        project: str | Path = ".",
        model: str | Provider | None = None,
        options: BuildOptions | None = None,
        check: str | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
        decider: Decider | None = None,
        approver: Approver | None = None,
        observer: Observer | None = None,
        run_id: str | None = None,
    ) -> Run:
        """Make software in a copy of the project's repository: plan, specs, phases, code.

        Nothing of the project itself is touched before :meth:`promote`. Without a ``decider`` the
        build is ``waiting`` when there is a plan: :meth:`send` it a `Decide`, then resume it.
        ``check`` is the command that validates a build of the size ``brief``; ``limits`` bound
        the build and all its runs together.

        Raises:
            NotFoundError: the project is in no git repository, or has no commit.
            ConfigError: no model was named, git is missing, or nothing tests a brief build.
        """
        from artificer.wiring.builds import (
            BuildPlace,
            bounded,
            must_be_possible,
            project_folder,
            requested,
        )

        options = options or BuildOptions()
        must_be_possible(options, check)
        must_fit(policy or self.config.policy, tools_of_builds())
        folder = project_folder(project)
        provider, name = choose_model(model, self.config)
        model_name = f"{provider.name}/{name}"
        limits = limits_of("build", limits, self.config, model_name)
        options, limits = bounded(options, limits)
        run_id = run_id or SystemClock().new_run_id()
        if isinstance(provider, Requiring):  # before anything is made
            provider.require()
        place = await BuildPlace.make(self.config, run_id, folder)
        asked = requested(run_id, request, place, options, check)
        spec = make_spec(
            kind="build",
            prompt=request,
            provider=provider.name,
            wire=wire_of(provider),
            model=name,
            toolset=ToolBox.empty().toolset.to_text(),
            policy=policy or self.config.policy,
            limits=limits,
            price=price_of(model_name, limits, self.config),
            compaction=compaction_prompt(),
            caching=self.config.prompt_caching,
            build=asked,
            project=str(folder),
        )
        async with self._engine_of(
            spec, provider, (), approver, observer, run_id=run_id, decider=decider
        ) as engine:
            return self._run(run_id, await engine.start(run_id, spec))

    async def resume(
        self,
        run_id: str,
        *,
        model: Provider | None = None,
        tools: Iterable[Tool] = (),
        approver: Approver | None = None,
        observer: Observer | None = None,
        decider: Decider | None = None,
        take_over: bool = False,
        response_format: type[Any] | None = None,
        build_tokens: int | None = None,
    ) -> Run:
        """Go on with a run where its journal ends, and do as the letters to it say.

        Folders of manifests are found again. Without an ``approver`` the run waits at what policy
        asks about. With ``take_over`` a run is taken away from a process that still drives it:
        that one can record nothing more, and its unfinished calls are ambiguous, but for pure ones.
        A run whose ``response_format`` was a type needs that type again.
        ``build_tokens`` is what all runs of a build may take together from now on,
        with what they have taken, in the place of what its limits say.

        Raises:
            NotFoundError: no such run.
            OwnedError: a process that drives the run is alive.
            ConfigError: a tool of the run is not here, or is no longer the same.
        """
        storage = self._storage
        before = await restore(storage.journal, storage.blobs, storage.snapshots, run_id)
        letters = await storage.signals.read(run_id, before.state.letters)
        if before.state.phase is Phase.FINISHED and not letters:
            await self._tidy(run_id, before.state)
            return self._run(run_id, before.state)
        spec = before.state.given
        provider = model or build_provider(spec.provider, self.config, recorded=spec.wire)
        if wire_of(provider) != spec.wire:
            raise ConfigError(
                f"The run spoke to {spec.provider} as {spec.wire or 'itself'}, "
                f"and now it would be {wire_of(provider) or 'itself'}.",
                hint="Give it the base URL and the settings back with which it began.",
            )
        async with self._engine_of(
            spec,
            provider,
            tools,
            approver,
            observer,
            run_id=run_id,
            decider=decider,
            check=check_of(spec.response_format, response_format),
            build_tokens=build_tokens,
        ) as engine:
            return self._run(run_id, await engine.resume(run_id, take_over=take_over))

    async def fork(
        self,
        run_id: str,
        *,
        at: int | None = None,
        model: str | Provider | None = None,
        prompt: str | None = None,
        system: str | None = None,
        edits: Mapping[int, str] | None = None,
        steer: str = "",
        limits: Limits | None = None,
        tools: Iterable[Tool] = (),
        approver: Approver | None = None,
        observer: Observer | None = None,
        new_id: str | None = None,
        decider: Decider | None = None,
        response_format: type[Any] | None = None,
    ) -> Run:
        """Begin a run with the facts of another one up to record ``at``, and let it go on alone.

        Facts are taken up to where every call is answered; ``RunForked`` in the new journal says
        up to which record. Without ``at`` it is the last such place, or the first that holds what
        is changed. ``edits`` gives results of tools another content, by the number of their
        record; ``steer`` is told to the model before it is asked again.

        Raises:
            NotFoundError: no such run or record.
            ConfigError: a tool of the run is not here, or is no longer the same.
            OperatorError: a record cannot be edited, or the facts do not fit what was changed.
        """
        before = await load(self._storage.journal, self._storage.blobs, run_id)
        given = before.state.given
        provider, name = choose_model(model or f"{given.provider}/{given.model}", self.config)
        price = given.price if model is None else None
        model_name = f"{provider.name}/{name}"
        limits = limits or given.limits
        if model is not None and limits.max_tokens == given.limits.max_tokens:
            limits = limits_for(model_name, limits, self.config)
        spec = given.replace(
            prompt=given.prompt if prompt is None else prompt,
            system=given.system if system is None else system,
            limits=limits,
            provider=provider.name,
            model=name,
            wire=wire_of(provider),
            price=price or price_of(model_name, limits, self.config),
        )
        wish = Wish(at, edits, steer, from_start=prompt is not None or system is not None)
        new_id = new_id or SystemClock().new_run_id()
        plan = await self._plan_fork(run_id, new_id, before, wish, spec)
        forked = RunForked(
            at=SystemClock().now(),
            origin=await origin_of(self._storage.journal, run_id, plan, given, spec),
            steer=steer,
        )
        async with self._engine_of(
            spec,
            provider,
            tools,
            approver,
            observer,
            run_id=new_id,
            decider=decider,
            check=check_of(spec.response_format, response_format),
        ) as engine:
            return self._run(new_id, await engine.fork(new_id, plan.facts, forked))

    async def _plan_fork(
        self, run_id: str, new_id: str, before: Loaded, wish: Wish, spec: RunSpec
    ) -> ForkPlan:
        """The plan of a fork; that of a build, or of a run of one, has what it works in."""
        if spec.build is None and not spec.parent:
            return plan_fork(before.lines, wish, spec)
        from artificer.wiring.forks import copy_build, copy_child, must_be_possible

        must_be_possible(spec, wish)
        if spec.build is None and spec.kind == "code":
            wish = replace(wish, at=None, from_start=True)
        plan = plan_fork(before.lines, wish, spec)
        if spec.build is None:
            await copy_child(self._storage, self.config, run_id, spec, new_id)
        else:
            await copy_build(self.config, run_id, plan, new_id)
        return plan

    @asynccontextmanager
    async def _engine_of(
        self,
        spec: RunSpec,
        provider: Provider,
        tools: Iterable[Tool],
        approver: Approver | None,
        observer: Observer | None,
        *,
        run_id: str = "",
        decider: Decider | None = None,
        check: OutputCheck | None = None,
        build_tokens: int | None = None,
    ) -> AsyncIterator[Engine]:
        """An engine with the tools of a recorded run. Raises ConfigError when one has changed.

        That of a build, which ``run_id`` then names, serves its wishes.
        """
        if spec.parent and spec.build is None:
            from artificer.wiring.forks import tools_of_child

            tools = [*tools, *await tools_of_child(self._storage, self.config, run_id, spec)]
        used = {tool.name.partition(".")[0] for tool in spec.tools().tools if tool.backend == "mcp"}
        async with build_servers(self.config, self._storage) as servers:
            box = build_tools(
                [*spec.sources, *tools, *await servers.offered(used)],
                kind=spec.kind,
                storage=self._storage,
                config=self.config,
                servers=servers,
                facilities=spec.facilities,
            )
            box.must_match(spec.tools())
            try:
                engine = build_engine(
                    self._storage,
                    provider,
                    box,
                    self.config,
                    approver=approver,
                    observer=observer,
                    policy=spec.policy,
                    check=check,
                )
                if spec.build is None:
                    yield engine
                    return
                from artificer.wiring.builds import building

                async with building(
                    engine, run_id, spec, self._storage, self.config, decider, build_tokens
                ) as engine:
                    yield engine
            finally:
                await provider.aclose()

    async def cancel(self, run_id: str, reason: str = "") -> Run:
        """End a run that is interrupted or stalled; it delivers what exists so far.

        A process that still drives the run is fenced and stops. Raises NotFoundError.
        """
        nobody = build_provider("scripted", self.config)  # cancelling asks no model anything
        engine = build_engine(self._storage, nobody, ToolBox.empty(), self.config)
        state = await engine.cancel(run_id, reason)
        await self._tidy(run_id, state)
        return self._run(run_id, state)

    async def _tidy(self, run_id: str, state: RunState) -> None:
        """End what is left of a build that is over; who ended it may have died before that."""
        if state.build is None:
            return
        from artificer.wiring.builds import tidied

        nobody = build_provider("scripted", self.config)
        engine = build_engine(self._storage, nobody, ToolBox.empty(), self.config)
        await tidied(engine, run_id, state, self.config)

    async def promote(
        self, run_id: str, *, branch: str | None = None, into: str | None = None
    ) -> Promotion:
        """Bring a completed build into its project's repository, as a branch (by default
        ``build/RUN``), and into the branch ``into`` if one is named.

        If that has gone on since, the two are merged and validated first. What is uncommitted is
        never touched; where something is in the way, nothing changes and the promotion says why.

        Raises:
            OperatorError: the run is no build, or the build is not completed.
            ConfigError: a branch has no valid name, or ``into`` is not there.
            GitError: git failed; the branch is there and holds something else.
        """
        from artificer.wiring.builds import promote_build

        storage = self._storage
        before = await restore(storage.journal, storage.blobs, storage.snapshots, run_id)
        return await promote_build(self.config, run_id, before.state, branch, into)

    async def diff_of(self, run_id: str, base: str, commit: str) -> str:
        """Return the difference of two commits of a build. Raises NotFoundError, GitError."""
        from artificer.wiring.builds import diff_of

        storage = self._storage
        found = await restore(storage.journal, storage.blobs, storage.snapshots, run_id)
        return await diff_of(self.config, run_id, Path(found.state.given.project), base, commit)

    async def unpromoted(self, run_id: str) -> str:
        """Say in a sentence what of a completed build is in no branch of its project; else ''."""
        from artificer.wiring.builds import unpromoted

        storage = self._storage
        found = await restore(storage.journal, storage.blobs, storage.snapshots, run_id)
        return await unpromoted(self.config, run_id, found.state)

    async def correct_budget(
        self,
        *,
        tokens: int | None = None,
        micros: int | None = None,
        day: str | None = None,
        by: str = "",
        reason: str = "",
    ) -> Amount:
        """Put right what a day has cost, after a wrong report, and return its total.

        ``day`` is a date of UTC, by default today. What is None stays as it is. The correction is
        part of the journal's chain, with who made it and why.
        """
        now = SystemClock().now()
        correction = Correction(tokens=tokens, micros=micros, by=by, reason=reason, at=now)
        return await self._storage.budget.correct(day or day_of(now), correction)

    async def prune(
        self, run_id: str, *, by: str = "", reason: str = "", discard: bool = False
    ) -> None:
        """Remove what a finished run's records, letters and views say, for good.

        A tombstone takes their place, and their hashes stay, so that :meth:`verify` still tells
        the truth. Blobs that nothing else refers to go with the next :meth:`gc`. With ``discard``
        a completed build goes although its work is nowhere else.

        Raises:
            OperatorError: the run is not finished, or is a completed build that was not promoted.
            NotFoundError: no such run, or it was pruned before.
        """
        if not discard and (lost := await self.unpromoted(run_id)):
            raise OperatorError(
                lost, hint=f"artificer build promote {run_id}; or prune it with --discard."
            )
        journal, files = self._storage.journal, self._storage.files
        if not isinstance(journal, Prunable):
            raise OperatorError("This journal cannot be pruned.")
        nobody = build_provider("scripted", self.config)
        engine = build_engine(self._storage, nobody, ToolBox.empty(), self.config)
        lines = (await load(journal, self._storage.blobs, run_id)).lines
        epoch, records = await engine.entomb(run_id, by, reason)
        if files is not None:  # a fork may be citing them at this moment
            files.touch(digest for line in lines for digest in cited(line))
        await journal.erase(run_id, epoch, records)
        self._storage.snapshots.drop(run_id)
        remove_views(self.config.project_folder, run_id)
