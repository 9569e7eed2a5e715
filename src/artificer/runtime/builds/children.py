"""The runs that a build starts: ordinary runs, in the same journal, each begun once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from artificer.artifacts.build_catalog import tool_for
from artificer.artifacts.command_line import split_command
from artificer.backends.artifact.executor import ArtifactExecutor
from artificer.backends.command.executor import CommandExecutor
from artificer.backends.host.executor import HostExecutor
from artificer.backends.receipts import Now
from artificer.backends.sandbox.grants import Grants
from artificer.builds.facts import BuildOptions, RunRested, Standing
from artificer.builds.jobs import Check, StartRun
from artificer.builds.prompt import Instructions
from artificer.builds.state import BuildState
from artificer.builds.table import STEP_RULES, Means
from artificer.contracts.capabilities import Host
from artificer.contracts.definition import ToolDefinition, toolset
from artificer.core.kinds import KINDS, RunKind
from artificer.core.spec import Limits, RunSpec
from artificer.core.state import RunPhase, RunState
from artificer.ports import BlobStore, Executor
from artificer.runtime.builds.detect import Project, detected
from artificer.runtime.builds.worktrees import Worktree
from artificer.runtime.engine import Engine
from artificer.runtime.explaining.explanation import explain
from artificer.runtime.load import load
from artificer.runtime.snapshot import restore
from artificer.values.base import Digest

_STANDINGS: dict[str, Standing] = {"waiting": "waiting", "paused": "paused"}


@dataclass(frozen=True)
class Workplace:
    """Where a run of a build works: a folder, the project's commands, what it may do there."""

    folder: Path
    project: Project
    means: frozenset[Means]


@dataclass(frozen=True)
class Children:
    """Starts, takes up and ends runs of a build. ``engine`` is that of the build itself."""

    engine: Engine
    evidence: Path | None = None
    output: BlobStore | None = None
    """Where the long outputs of commands are kept."""
    grants: Grants = field(default_factory=Grants)

    @property
    def blobs(self) -> BlobStore:
        """Where runs keep what they make."""
        return self.engine.performer.blobs

    async def run_until_idle(
        self,
        run: str,
        kind: RunKind,
        instructions: Instructions,
        place: Workplace,
        parent: tuple[str, RunSpec],
        limits: Limits,
    ) -> RunState:
        """Execute a run until it is idle: start it, or continue where its journal ends.

        ``parent`` is the build's id and spec: its children speak to the same model under the same
        policy.
        """
        executors = executors_of(
            tool_for(instructions.required),
            place,
            self.blobs,
            self.output or self.blobs,
            self.evidence,
            self.grants,
            self.engine.performer.clock.now,
        )
        engine = self._engine({tool.name: e for e in executors for tool in e.tools})
        if await self.engine.journal.read(run, limit=1):
            return await engine.resume(run)
        build, spec = parent
        tools = toolset(
            tuple(sorted((t for e in executors for t in e.tools), key=lambda t: t.name))
        )
        return await engine.start(
            run,
            spec.replace(
                kind=kind,
                prompt=instructions.prompt,
                system=instructions.system,
                toolset=tools.to_text(),
                limits=limits.replace(**_ceilings(kind, spec)),
                build=None,
                project="",
                parent=build,
            ),
            outdated=partial(self._outdated, build),
        )

    async def _outdated(self, build: str) -> str:
        ended = (await self.state(build)).phase is RunPhase.FINISHED
        return "The build has ended." if ended else ""

    async def end(self, run: str, reason: str) -> None:
        """End a run that nobody waits for any more, if it is there and has not ended."""
        if await self.engine.journal.read(run, limit=1):
            await self._engine({}).cancel(run, reason)

    async def unfinished(self, build: str) -> list[str]:
        """The runs of a build that have not ended."""
        found = []
        for head in await self.engine.journal.runs():
            if head.run.startswith(f"{build}.") and head.head.seq:
                state = await self.state(head.run)
                if state.phase is not RunPhase.FINISHED:
                    found.append(head.run)
        return found

    async def state(self, run: str) -> RunState:
        """How a run stands."""
        engine = self.engine
        loaded = await restore(engine.journal, engine.performer.blobs, engine.snapshots, run)
        return loaded.state

    async def standing_of(self, key: Digest, run: str, build: str) -> RunRested:
        """The fact that a run is idle before its end, with the reason."""
        self.engine.signals.notify_for(run, build)
        explanation = explain(await load(self.engine.journal, self.blobs, run))
        reason = (
            "; ".join(explanation.pending) if explanation.stands == "waiting" else explanation.why
        )
        stands = _STANDINGS.get(explanation.stands, "stalled")
        return RunRested(key=key, run=run, standing=stands, reason=reason)

    def is_running(self, run: str) -> bool:
        """Whether this process executes a run now."""
        return self.engine.signals.is_watched(run)

    async def has_signals(self, run: str) -> bool:
        """Whether there are signals that a run has not taken."""
        taken = (await self.state(run)).letters
        return bool(await self.engine.signals.read(run, taken))

    async def post(self, run: str, signal: bytes) -> None:
        """Leave a signal for a run."""
        await self.engine.signals.post(run, signal)

    def _engine(self, executors: Mapping[str, Executor]) -> Engine:
        """An engine for one run: the build's, with that run's tools."""
        performer = replace(self.engine.performer, executors=executors, builder=None)
        return replace(self.engine, performer=performer, _loops={})


def _ceilings(kind: RunKind, build: RunSpec) -> dict[str, int | None]:
    """How many turns and tokens a run of a build may take."""
    options = build.build.options if build.build else BuildOptions()
    turns = options.turns if kind == "code" else None
    return {"turns": turns or KINDS[kind].turns, "total_tokens": options.run_tokens}


def place_of(
    build: BuildState, job: StartRun | Check, worktree: Worktree, project: Project
) -> Workplace:
    """The worktree with the commands that were found in it, and the phase's own.

    ``project`` is what was found when the build began. A judge only reads.
    """
    if isinstance(job, Check):
        return Workplace(worktree.path, project, frozenset({"read"}))
    project = project.beneath(detected(worktree.index.with_suffix(".project"), worktree.path))
    if job.step.kind == "code":
        phase = build.phase(job.step)
        argv = split_command(phase.phase.validation_command) if phase and phase.phase else ""
        if not isinstance(argv, str):
            project = project.with_validation(argv)
    return Workplace(worktree.path, project, STEP_RULES[job.step.kind].means)


def executors_of(
    delivers: ToolDefinition,
    place: Workplace,
    blobs: BlobStore,
    output: BlobStore,
    evidence: Path | None,
    grants: Grants,
    now: Now,
) -> Sequence[Executor]:
    """Return the executors of a run of a build: its worktree's files and commands, and the tool
    that delivers its artifact. ``output`` is where the long outputs of commands are kept, ``now``
    the time of the evidence.
    """
    host = Host(folder=str(place.folder), write="write" in place.means, protect=(".git",))
    executors: list[Executor] = [
        HostExecutor(host, blobs=blobs, evidence=evidence),
        ArtifactExecutor(blobs, (delivers,)),
    ]
    if "command" in place.means:
        commands = CommandExecutor(
            place.project.tools(place.folder),
            cwd=place.folder,
            blobs=output,
            evidence=evidence,
            grants=place.project.granted(grants, place.folder),
            now=now,
        )
        executors.append(commands)
    return executors
