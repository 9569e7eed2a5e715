"""A world: the runs of one project.

>>> async with World.open() as world:
...     run = await world.run("Say hello.", Agent(model="local/smollm2"))
...     print(run.text)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from artificer.agent_definition import AgentDefinition, defined
from artificer.builds.brief import Brief
from artificer.builds.facts import BuildOptions
from artificer.config import Config, load_config
from artificer.contracts.output import OutputT
from artificer.core.signals import Cancel, FollowUp, Signal
from artificer.core.submission import USUAL, Submission
from artificer.errors import AuthorError
from artificer.executing import built, cancelled, forked, resumed, started, streamed, watched
from artificer.ports import Approver, Attachment, Clock, Prompt, Requiring, Storage
from artificer.runs import Run
from artificer.runtime.watching.observe import Observer
from artificer.values.arguments import instance, plain, whole
from artificer.values.parameters import named_parameters, refuse_unknown
from artificer.wiring.argument_places import place_of
from artificer.wiring.assemble import (
    offered_tools,
)
from artificer.wiring.conversation import EarlierMessages
from artificer.wiring.engines import Attendance
from artificer.wiring.families import end_submitted as _end_submitted
from artificer.wiring.resources import CheckedParts, WorldParts, WorldResources, resources_over
from artificer.wiring.signals import MessageOptions, attached, post, send
from artificer.wiring.storage import OpenStorage, memory_storage, open_storage
from artificer.wiring.submitting import submit

if TYPE_CHECKING:
    from artificer.archive import Archive
    from artificer.contracts.definition import Toolset
    from artificer.events import RunEvent
    from artificer.guard.guarded import Guarded
    from artificer.guard.tools import Guardables, GuardOptions
    from artificer.maintenance import Maintenance
    from artificer.recordings.recording import Recording
    from artificer.runtime.builds.builder import Decider
    from artificer.runtime.fork import ForkChanges
    from artificer.runtime.watching.stream import RunStream
    from artificer.wiring.builds import Builds
    from artificer.wiring.checklists import Checklists


PARTS = tuple(WorldParts.__annotations__)
"""The names of the parts of a world."""

MESSAGE = ("run_id", "signal", *MessageOptions.__annotations__)
"""The names of the arguments of `World.send`."""


@named_parameters(place_of)
class World(AbstractAsyncContextManager["World"]):
    """Runs agents, and records what they do."""

    def __init__(self, resources: object) -> None:
        self._resources = _opened(resources)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        config: Config | None = None,
        storage: Storage | None = None,
        **parts: Unpack[WorldParts],
    ) -> AsyncIterator[Self]:
        """Open or create the world of this project, as ``artificer.toml`` and the environment say.

        Your own ``storage`` replaces the configured one. The world closes it, and the
        providers among the `WorldParts`. Raises AuthorError for an unknown part.
        """
        refuse_unknown("World.open", parts, ("config", "storage", *PARTS), place_of)
        settings, made = _settings(config, load_config), CheckedParts.of(**parts)
        opened = await open_storage(settings, storage, made.clock)
        async with aclosing(cls(await resources_over(settings, opened, made))) as world:
            yield world

    @classmethod
    def in_memory(cls, config: Config | None = None, **parts: Unpack[WorldParts]) -> Self:
        """Return a world that lives as long as the process, and needs no home."""
        refuse_unknown("World.in_memory", parts, ("config", *PARTS), place_of)
        settings, made = _settings(config), CheckedParts.of(**parts)
        return cls(WorldResources(settings, memory_storage(made.clock), made))

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections to providers, and the journal."""
        await self._resources.aclose()

    @property
    def config(self) -> Config:
        """The settings of the world."""
        return self._resources.config

    @property
    def storage(self) -> Storage:
        """The storage that keeps everything. Only Artificer writes to it."""
        return self._resources.storage.storage

    @property
    def clock(self) -> Clock:
        """The source of the times and ids of its runs."""
        return self._resources.clock

    @property
    def archive(self) -> Archive:
        """The read-only part of the world."""
        from artificer.archive import archive_of

        return archive_of(self._resources)

    @property
    def maintenance(self) -> Maintenance:
        """The world's maintenance: collecting, pruning and repairing what it keeps."""
        from artificer.maintenance import Maintenance

        return Maintenance(self._resources)

    @property
    def builds(self) -> Builds:
        """The results of builds, and their promotion into the projects."""
        from artificer.wiring.builds import Builds

        return Builds(self._resources)

    @property
    def checklists(self) -> Checklists:
        """The checklists of runs, and people's ticks in them."""
        from artificer.wiring.checklists import Checklists

        return Checklists(self._resources)

    async def run(
        self,
        prompt: Prompt,
        agent: AgentDefinition[OutputT] | None = None,
        *,
        approver: Approver | None = None,
        observer: Observer | None = None,
        run_id: str | None = None,
        history: EarlierMessages | None = None,
        deps: Any = None,
    ) -> Run[OutputT]:
        """Run a prompt to its end: a text, or a list of texts, images, sounds and files.

        ``history`` is a run, or messages, to continue from; ``deps`` are for the context of
        functions. If the model cannot be reached the run is ``stalled``: :meth:`resume` it. Without
        an ``approver`` it is ``waiting`` when the policy asks: :meth:`send` an answer, then resume
        it. Raises ConfigError without a known model, or if a named tool is missing; AuthorError for
        an unusable tool, output, attachment or history; MissingExtraError without the model's SDK.
        """
        attendance, own = Attendance(approver, None, observer, deps), self._resources
        return await started(own, run_id, prompt, defined(agent), attendance, history)

    async def submit(
        self,
        prompt: Prompt,
        agent: AgentDefinition | None = None,
        *,
        name: str = "",
        priority: int = USUAL,
        tenant: str = "",
        lane: str = "",
        run_id: str | None = None,
        history: EarlierMessages | None = None,
    ) -> str:
        """Record the start of a run for `artificer worker` to execute, and return its id.

        Workers have the agent of a program under its ``name``, as ``module:name``. ``priority``
        goes from 1, the first, to 5; runs of the same priority take turns by ``tenant``, and a
        ``lane`` is a group of runs with its own limit. Raises what :meth:`run` raises,
        ExistsError if a run with that id exists, and InvalidValueError for one of these values.
        """
        wanted = Submission(agent=name, priority=priority, tenant=tenant, lane=lane)
        return await submit(self._resources, prompt, defined(agent), wanted, run_id, history)

    def stream(
        self,
        prompt: Prompt,
        agent: AgentDefinition[OutputT] | None = None,
        *,
        approver: Approver | None = None,
        run_id: str | None = None,
        history: EarlierMessages | None = None,
        deps: Any = None,
    ) -> AbstractAsyncContextManager[RunStream[Run[OutputT]]]:
        """Run a prompt, and provide a stream of its events. Raises what :meth:`run` raises."""
        run_id = self._resources.new_run_id(run_id)
        more: Any = {"approver": approver, "run_id": run_id, "history": history, "deps": deps}
        return streamed(self._resources, run_id, partial(self.run, prompt, agent, **more))

    def events(self, run_id: str, *, after: int = 0) -> AsyncIterator[RunEvent]:
        """Yield a run's events after the record ``after``, even if another process executes it.

        `RunEnded`, the last one, comes when the run has ended or is idle. Raises NotFoundError.
        """
        return watched(self._resources, plain("run_id", run_id), whole("after", after))

    async def build(
        self,
        prompt: str | Brief,
        agent: AgentDefinition | None = None,
        *,
        project: str | Path = ".",
        options: BuildOptions | None = None,
        approver: Approver | None = None,
        decider: Decider | None = None,
        observer: Observer | None = None,
        run_id: str | None = None,
    ) -> Run:
        """Build software in a copy of the project's repository: plan, specs, phases, code.

        The project itself is not touched until `Builds.promote`. Without a ``decider`` the build is
        ``waiting`` when there is a plan: :meth:`send` it a `Decide`, then resume it. The agent's
        limits apply to the build and all its runs together. Raises NotFoundError without a git
        repository or a commit, ConfigError without a model, git or tests of a brief build.
        """
        attendance, own = Attendance(approver, decider, observer), self._resources
        return await built(own, run_id, prompt, defined(agent), attendance, project, options)

    async def resume(
        self,
        run_id: str,
        agent: AgentDefinition[OutputT] | None = None,
        *,
        approver: Approver | None = None,
        decider: Decider | None = None,
        observer: Observer | None = None,
        take_over: bool = False,
        build_tokens: int | None = None,
        deps: Any = None,
    ) -> Run[OutputT]:
        """Continue a run where its journal ends, and process the signals that were sent to it.

        The agent supplies the functions, executors and the output type; ``deps`` are passed again;
        everything else is recorded. With ``take_over`` the run is taken from a process that still
        executes it, which can record nothing more; its unfinished calls are ambiguous unless they
        are pure. ``build_tokens`` is the new limit of what all runs of a build use together. Raises
        NotFoundError, OwnedError while a process executes it, ConfigError for other tools.
        """
        attendance, own = Attendance(approver, decider, observer, deps), self._resources
        return await resumed(own, run_id, defined(agent), attendance, take_over, build_tokens)

    async def fork(
        self,
        run_id: str,
        agent: AgentDefinition[OutputT] | None = None,
        changes: ForkChanges | None = None,
        *,
        approver: Approver | None = None,
        decider: Decider | None = None,
        observer: Observer | None = None,
        new_id: str | None = None,
        deps: Any = None,
    ) -> Run[OutputT]:
        """Start a run with a copy of another run's records, up to where every call has a result.

        The agent's model, instructions and limits replace those that are recorded. Raises
        NotFoundError, ConfigError if a tool is missing or a tool or the policy has changed, and
        OperatorError for a record that cannot be edited or does not fit the changes.
        """
        attendance, own = Attendance(approver, decider, observer, deps), self._resources
        return await forked(own, run_id, new_id, defined(agent), changes, attendance)

    def guard(self, tools: Guardables, *, key: str, **options: Unpack[GuardOptions]) -> Guarded:
        """Return tools for another library's agent; their calls are recorded as the run ``key``."""
        from artificer.guard.guarded import RecordedRuns, guarded

        runs = RecordedRuns(self.run, self.resume, self.send, self.archive.history)
        return guarded(runs, self._resources.storage.blobs, tools, key, options, place_of)

    async def cancel(self, run_id: str, reason: str = "", by: str = "") -> Run:
        """End a run that is interrupted or stalled; it delivers what exists so far.

        A process that still executes the run is fenced and stops. ``by`` is who ends it, for the
        audit trail. Raises NotFoundError, InvalidValueError for a text that is too long.
        """
        return await cancelled(self._resources, run_id, Cancel(reason=reason, by=by).verified())

    async def send(self, run_id: str, signal: Signal, **message: Unpack[MessageOptions]) -> int:
        """Send a signal to a run, and return its number; a message may have ``attachments``.

        The process that executes the run reads it at once; otherwise :meth:`resume` does. Raises
        NotFoundError, AuthorError for too much, ConfigError for what the model cannot read.
        """
        refuse_unknown("World.send", message, MESSAGE, place_of)
        return await send(self._resources, run_id, signal, **message)

    async def import_run(self, data: bytes) -> str:
        """Add an exported run to this world if its replay succeeds, and return its id.

        Raises TamperedError for a damaged file, OperatorError if the id belongs to another run.
        """
        from artificer.wiring.recordings import import_recording

        return await import_recording(self._resources, data)

    async def get(self, run_id: str) -> Run:
        """Return a run. Raises NotFoundError, TamperedError."""
        return await self.archive.get(run_id)


def _opened(resources: object) -> WorldResources:
    if isinstance(resources, WorldResources):
        return resources
    hint = "Write async with World.open() as world, or World.open(Config(…))."
    raise AuthorError("A world is opened, not made with World(…).", hint=hint)


def _settings(config: Config | None, load: Callable[[], Config] | None = None) -> Config:
    """Return the settings given, or those loaded; without ``load`` those of a world in memory."""
    hint = "World.open(artificer.load_config('FOLDER')), or World.open(artificer.Config(home=…))."
    found = (load or Config)() if config is None else instance("config", config, Config, hint)
    return found.placed(in_memory=load is None)


async def tools_of(world: World, agent: AgentDefinition | None = None) -> Toolset:
    """Return the tools that a new run of an agent would have. Raises what `World.run` raises."""
    return await offered_tools(world._resources, defined(agent))


async def follow_up(
    world: World,
    run_id: str,
    message: FollowUp,
    agent: AgentDefinition[OutputT],
    attachments: Sequence[Attachment],
    attendance: Attendance,
) -> Run[OutputT]:
    """Send a message to a run and continue it. Nothing is sent to one that cannot go on here.

    Raises what `World.send` and `World.resume` raise.
    """
    own = world._resources
    signal = await attached(own, run_id, message, attachments, agent)
    send = partial(post, own.storage, run_id, signal)
    return await resumed(own, run_id, agent, attendance, send=send)


async def import_checked(world: World, recording: Recording) -> str:
    """Add a run that was read and checked, and return its id.

    Raises OperatorError if the id belongs to another run.
    """
    from artificer.wiring.recordings import add_recording

    return await add_recording(world._resources, recording)


def observe(world: World, observer: Observer) -> None:
    """Notify an observer of all runs that a world executes in this process from now on."""
    world._resources.watch(observer)


def require_model(world: World, model: str | None = None) -> None:
    """Check that a new run could use a model: the named one, or the configured one.

    Raises ConfigError if it is unknown or lacks a key, and MissingExtraError.
    """
    for provider, _ in world._resources.providers.choose_all(model):
        if model is not None and isinstance(provider, Requiring):
            provider.require()


async def resume_submitted(
    world: World, run_id: str, agent: AgentDefinition | None, deps: Any
) -> Run:
    """Continue a run as a worker does, leaving its children to workers too.

    Raises what `World.resume` raises.
    """
    attendance = Attendance(deps=deps, submits=True)
    return await resumed(world._resources, run_id, defined(agent), attendance)


async def end_submitted(world: World, run_id: str, reason: str) -> bool:
    """End a submitted run as far as possible without a worker; return whether it has ended."""
    return await _end_submitted(world._resources, run_id, reason)


def storage_of(world: World) -> OpenStorage:
    """Return the open storage of a world."""
    return world._resources.storage
