"""A world: one project's runs.

>>> async with await World.open() as world:
...     run = await world.run("Say hello.", model="local/smollm2")
...     print(run.text)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from artificer.config import Config, load_config
from artificer.core.policy import Policy
from artificer.core.price import Price
from artificer.core.spec import Limits, RunKind, RunSpec
from artificer.core.state import Phase, RunState
from artificer.errors import AuthorError, ConfigError, NotFoundError
from artificer.loops.kinds import KINDS
from artificer.ports import Approver, Provider, RunHead
from artificer.runs import History, Run
from artificer.runtime.load import first_spec, load
from artificer.runtime.observe import Observer
from artificer.runtime.replay import Replay, replay
from artificer.runtime.summary import Summary, summarise
from artificer.runtime.verify import Verification, verify
from artificer.system import SystemClock
from artificer.tools.function import FunctionTool
from artificer.values.model import ToolChoice
from artificer.wiring import (
    Storage,
    Tool,
    ToolBox,
    build_engine,
    build_mapper,
    build_provider,
    build_servers,
    build_tools,
    memory_storage,
    open_storage,
    split_model,
    system_prompt,
    wire_of,
)


class World:
    """One project's journal and blobs, and the runs in them."""

    def __init__(self, config: Config, storage: Storage) -> None:
        self.config = config
        self._storage = storage

    @classmethod
    async def open(cls, config: Config | None = None) -> Self:
        """Open the world of this project, as ``artificer.toml`` and the environment say."""
        config = config or load_config()
        return cls(config, await open_storage(config))

    @classmethod
    def in_memory(cls, config: Config | None = None) -> Self:
        """A world that lives as long as the process."""
        return cls(config or Config(), memory_storage())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the journal."""
        if self._storage.close is not None:
            await self._storage.close()

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
        offer: Iterable[str] | None = None,
        approver: Approver | None = None,
        observer: Observer | None = None,
        run_id: str | None = None,
    ) -> Run:
        """Run a prompt to its end. ``offer`` narrows the toolset to the tools it names.

        A model that cannot be reached is not an exception: the run is then ``stalled``, and
        :meth:`resume` goes on with it.

        Raises:
            ConfigError: no model was named, its provider is unknown, or ``offer`` or ``choices``
                name a tool that is not there.
            AuthorError: a tool, or an argument of this call, cannot be used.
            MissingExtraError: the provider's SDK is not installed.
        """
        tools = _checked(tools, kind)
        provider, name = self._provider(model)
        async with build_servers(self.config, self._storage) as servers:
            box = build_tools(
                [*self.config.tools, *tools, *await servers.offered()],
                kind=kind,
                storage=self._storage,
                config=self.config,
                servers=servers,
            ).narrowed(offer)
            box.must_offer(choices or ())
            spec = _spec(
                kind=kind,
                prompt=prompt,
                system=system_prompt(kind) if system is None else system,
                provider=provider.name,
                wire=wire_of(provider),
                model=name,
                toolset=box.toolset.to_text(),
                sources=box.folders,
                policy=policy or self.config.policy,
                limits=_limits(kind, limits),
                price=self._price(f"{provider.name}/{name}", limits),
                choices=tuple(choices or (ToolChoice(),)),
                temperature=temperature,
            )
            engine = build_engine(
                self._storage, provider, box, self.config, approver=approver, observer=observer
            )
            run_id = run_id or SystemClock().new_run_id()
            try:
                return self._run(run_id, await engine.start(run_id, spec))
            finally:
                await provider.aclose()

    async def resume(
        self,
        run_id: str,
        *,
        model: Provider | None = None,
        tools: Iterable[Tool] = (),
        approver: Approver | None = None,
        observer: Observer | None = None,
    ) -> Run:
        """Go on with a run where its journal ends. Folders of manifests are found again.

        Raises:
            NotFoundError: no such run.
            ConfigError: a tool of the run is not here, or is no longer the same.
        """
        before = await load(self._storage.journal, self._storage.blobs, run_id)
        if before.state.phase is Phase.FINISHED:
            return self._run(run_id, before.state)
        spec = before.state.given
        provider = model or build_provider(spec.provider, self.config)
        if wire_of(provider) != spec.wire:
            raise ConfigError(
                f"The run spoke to {spec.provider} as {spec.wire or 'itself'}, "
                f"and now it would be {wire_of(provider) or 'itself'}.",
                hint="Give it the base URL and the settings back with which it began.",
            )
        used = {tool.name.partition(".")[0] for tool in spec.tools().tools if tool.backend == "mcp"}
        async with build_servers(self.config, self._storage) as servers:
            box = build_tools(
                [*spec.sources, *tools, *await servers.offered(used)],
                kind=spec.kind,
                storage=self._storage,
                config=self.config,
                servers=servers,
            )
            box.must_match(spec.tools())
            engine = build_engine(
                self._storage, provider, box, self.config, approver=approver, observer=observer
            )
            try:
                return self._run(run_id, await engine.resume(run_id))
            finally:
                await provider.aclose()

    async def cancel(self, run_id: str, reason: str = "") -> Run:
        """End a run that is interrupted or stalled; it delivers what exists so far.

        A process that still drives the run is fenced and stops. Raises NotFoundError.
        """
        nobody = build_provider("scripted", self.config)  # cancelling asks no model anything
        engine = build_engine(self._storage, nobody, ToolBox.empty(), self.config)
        return self._run(run_id, await engine.cancel(run_id, reason))

    async def get(self, run_id: str) -> History:
        """Read a run, with its records. Raises NotFoundError, TamperedError."""
        loaded = await load(self._storage.journal, self._storage.blobs, run_id)
        return History(self._run(run_id, loaded.state), loaded.lines)

    async def runs(self) -> list[str]:
        """The ids of all runs, oldest first."""
        return [head.run for head in await self._heads()]

    async def summaries(self, limit: int | None = None) -> list[Summary]:
        """The newest ``limit`` runs (all for None), oldest first, from two records each."""
        heads = await self._heads()
        journal, blobs = self._storage.journal, self._storage.blobs
        newest = heads if limit is None else heads[max(0, len(heads) - limit) :]
        return [await summarise(journal, blobs, head) for head in newest]

    async def find(self, word: str) -> str:
        """Return the id of the one run that ``word`` begins, or of the newest for ``last``.

        Raises:
            NotFoundError: none does, or several do.
        """
        runs = await self.runs()
        if word == "last" and runs:
            return runs[-1]
        found = [run for run in runs if run == word] or [r for r in runs if r.startswith(word)]
        if len(found) == 1:
            return found[0]
        which = f"{len(found)} runs begin with" if found else "There is no run"
        raise NotFoundError(f"{which} {word!r}.", hint="`artificer runs` lists them.")

    async def replay(self, run_id: str, *, model: Provider | None = None) -> Replay:
        """Reduce a run's journal anew and compare every digest. Raises NotFoundError."""
        journal, blobs = self._storage.journal, self._storage.blobs
        provider = model or await self._recorded_provider(run_id)
        return await replay(journal, blobs, run_id, provider)

    async def verify(self) -> Verification:
        """Check every record and every blob of the world (invariant 12)."""
        return await verify(self._storage.journal, self._storage.blobs)

    async def _heads(self) -> list[RunHead]:
        """Every run with a record; one that was acquired and died before it wrote has none."""
        return [head for head in await self._storage.journal.runs() if head.head.seq]

    async def _recorded_provider(self, run_id: str) -> Provider | None:
        spec = await first_spec(self._storage.journal, self._storage.blobs, run_id)
        try:
            return build_mapper(spec.provider, spec.wire, self.config) if spec else None
        except ConfigError:
            return None  # the replay says that requests were not recomputed

    def _provider(self, model: str | Provider | None) -> tuple[Provider, str]:
        if model is None:
            model = self.config.model
        if model is None:
            raise ConfigError(
                "No model was named.",
                hint="Name one with --model provider/model, $ARTIFICER_MODEL or artificer.toml; "
                "`artificer doctor` shows which answer here.",
            )
        if isinstance(model, str):
            name, model_name = split_model(model)
            return build_provider(name, self.config), model_name
        return model, model.name

    def _price(self, model: str, limits: Limits | None) -> Price | None:
        """The model's price. A cost limit needs one: raises ConfigError where it is not known."""
        price = self.config.price_of(model)
        if price is None and limits is not None and limits.cost_micros is not None:
            raise ConfigError(
                f"The price of {model!r} is not known, so its cost cannot be limited.",
                hint=f'Give it in artificer.toml: [prices."{model}"] input = …, output = …',
            )
        return price

    def _run(self, run_id: str, state: RunState) -> Run:
        return Run(run_id, state, self._storage.blobs)


def _checked(tools: Iterable[Tool], kind: str) -> list[Tool]:
    """The tools. Raises AuthorError for what only a type checker would have caught."""
    if kind not in KINDS:
        raise AuthorError(f"There is no kind of run {kind!r}.", hint=f"Kinds: {', '.join(KINDS)}.")
    if isinstance(tools, str | Path):
        raise AuthorError("The tools of a run are a list.", hint=f"tools=[{str(tools)!r}]")
    checked = list(tools)
    for tool in checked:
        if not (isinstance(tool, FunctionTool | str | Path) or hasattr(tool, "execute")):
            raise AuthorError(
                f"{tool!r} is not a tool.",
                hint="Write @artificer.tool above a function; or give an Executor or a folder.",
            )
    return checked


def _spec(**facts: Any) -> RunSpec:
    """The run's spec. Raises AuthorError likewise."""
    try:
        return RunSpec(**facts)
    except ValidationError as error:
        first = error.errors()[0]
        raise AuthorError(f"This run cannot begin: {first['loc'][0]}: {first['msg']}.") from error


def _limits(kind: RunKind, given: Limits | None) -> Limits:
    """The given limits; the turn cap is that of the kind unless it was given too."""
    if given is None or "turns" not in given.model_fields_set:
        return (given or Limits()).model_copy(update={"turns": KINDS[kind].turns})
    return given
