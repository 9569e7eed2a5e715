"""What a world keeps, and what can be told of it: nothing here asks a model or runs a tool."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Self

from artificer.backends.workspace.audit import audit
from artificer.backends.workspace.service import Workspaces
from artificer.config import Config, load_config
from artificer.core.letters import LONGEST, Letter
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.errors import AuthorError, ConfigError, NotFoundError, TamperedError
from artificer.policies.engine import consult_here
from artificer.ports import Provider, RunHead
from artificer.recordings.recording import (
    Recording,
    check,
    compress,
    export,
    import_into,
    read_recording,
)
from artificer.recordings.rerun import rerun
from artificer.runs import History, Run
from artificer.runtime.budgets import DayBudget, day_budget
from artificer.runtime.compare import Comparison, compare
from artificer.runtime.explain import Explanation, explain
from artificer.runtime.keeping import GRACE_S, Check, Sweep, check_world, collect
from artificer.runtime.kept import KeptHeads
from artificer.runtime.listing import exists, newest
from artificer.runtime.load import first_spec, load
from artificer.runtime.replay import Replay, replay
from artificer.runtime.snapshot import restore
from artificer.runtime.summary import Summary, summarise
from artificer.runtime.verify import Verification, verify
from artificer.system import SystemClock
from artificer.wiring.providers import build_mapper
from artificer.wiring.storage import OpenStorage, memory_storage, open_to_read
from artificer.wiring.toolbox import build_workspaces

if TYPE_CHECKING:
    from artificer.runtime.builds.tree import Node


def is_of_build(run: str, runs: Collection[str]) -> bool:
    """Whether a run was started by another one of these, which is a build."""
    return "." in run and run.rpartition(".")[0] in runs


class Archive:
    """One project's journal and blobs, read."""

    def __init__(self, config: Config, storage: OpenStorage) -> None:
        self.config = config
        self._storage = storage

    @classmethod
    async def open(cls, config: Config | None = None) -> Self:
        """Open the world of this project to be read, as ``artificer.toml`` and the environment say.

        Nothing is made or changed; what would write raises OperatorError.
        """
        config = config or load_config()
        return cls(config, await open_to_read(config))

    @classmethod
    def in_memory(cls, config: Config | None = None) -> Self:
        """A world that lives as long as the process."""
        return cls(config or Config(), memory_storage())

    async def budget(self) -> DayBudget:
        """What the project has spent today, and what it may."""
        now = SystemClock().now()
        return await day_budget(self._storage.budget, self.config.budget.day, now)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the journal."""
        await self._storage.aclose()

    async def get(self, run_id: str) -> History:
        """Read a run, with its records. Raises NotFoundError, TamperedError."""
        loaded = await load(self._storage.journal, self._storage.blobs, run_id)
        return History(self._run(run_id, loaded.state), loaded.lines)

    async def runs(self) -> list[str]:
        """The ids of all runs, oldest first."""
        return [head.run for head in await self._heads()]

    async def summaries(self, limit: int | None = None, *, builds: bool = True) -> list[Summary]:
        """The newest ``limit`` runs (all for None), oldest first.

        A finished one is read from two records. Without ``builds``, none that a build started.
        """
        journal, blobs = self._storage.journal, self._storage.blobs
        found: list[Summary] = []
        async for head in newest(journal, builds=builds):
            if len(found) == limit:
                break
            found.append(await summarise(journal, blobs, head))
        return found[::-1]

    async def tree(self, run_id: str) -> list[Node]:
        """The runs that a build has started, as they belong together; none of any other run.

        Raises NotFoundError, TamperedError.
        """
        history = await self.get(run_id)
        if history.run.state.build is None:
            return []
        from artificer.runtime.builds.tree import nodes

        storage = self._storage
        states = {
            run: (await restore(storage.journal, storage.blobs, storage.snapshots, run)).state
            for run in await self.runs()
            if run.startswith(f"{run_id}.")
        }
        return nodes(run_id, history.lines, states)

    async def send(self, run_id: str, letter: Letter) -> int:
        """Leave a letter for whoever drives a run, and return its number.

        A run that nobody drives takes it when it is resumed.

        Raises:
            NotFoundError: no such run.
            AuthorError: the letter is too long.
            OperatorError: the run's mailbox is full.
        """
        if not await self._storage.journal.read(run_id, limit=1):
            raise NotFoundError(f"There is no run {run_id!r}.", hint="`artificer runs` lists them.")
        body = letter.canonical()
        if len(body) > LONGEST:
            raise AuthorError(f"A letter has at most {LONGEST:,} bytes; this has {len(body):,}.")
        return await self._storage.signals.post(run_id, body)

    async def find(self, word: str) -> str:
        """Return the id of the one run that ``word`` begins, or of the newest for ``last``.

        Raises:
            NotFoundError: none does, or several do.
        """
        journal = self._storage.journal
        if word == "last":
            async for head in newest(journal, builds=False):
                return head.run
        if await exists(journal, word):
            return word
        names = dict.fromkeys(await self.runs())
        runs = [run for run in names if run.startswith(word)]
        found = [run for run in runs if not is_of_build(run, names)] or runs
        if len(found) == 1:
            return found[0]
        which = f"{len(found)} runs begin with" if found else "There is no run"
        raise NotFoundError(f"{which} {word!r}.", hint="`artificer runs` lists them.")

    async def replay(self, run_id: str, *, model: Provider | None = None) -> Replay:
        """Reduce a run's journal anew and compare every digest. Raises NotFoundError."""
        journal, blobs = self._storage.journal, self._storage.blobs
        provider = model or await self._recorded_provider(run_id)
        return await replay(journal, blobs, run_id, provider, consult_here())

    async def diff(self, run_id: str, other_id: str) -> Comparison:
        """Where two runs first differ, and in what. Raises NotFoundError, TamperedError."""
        journal, blobs = self._storage.journal, self._storage.blobs
        one, other = await load(journal, blobs, run_id), await load(journal, blobs, other_id)
        return compare(one, other, blobs)

    async def explain(self, run_id: str) -> Explanation:
        """Where a run stands, why, and what to do next. Raises NotFoundError, TamperedError."""
        return explain(await load(self._storage.journal, self._storage.blobs, run_id))

    async def export_run(self, run_id: str) -> bytes:
        """A run with all its blobs as one compressed file, the same bytes every time.

        Raises:
            NotFoundError: no such run, or a blob of it is missing.
            TamperedError: its journal is not what was written.
        """
        return compress(await export(self._storage.journal, self._storage.blobs, run_id))

    async def import_run(self, data: bytes) -> str:
        """Add an exported run to this world, once it has replayed, and return its id.

        Raises:
            TamperedError: the file is damaged, too long, or does not reproduce itself.
            OperatorError: there is another run of that id.
        """
        recording = await read_recording(data)
        faults = await check(recording, await self._mapper_of(recording))
        if faults:
            raise TamperedError(f"The run of this file does not reproduce itself: {faults[0]}.")
        await import_into(recording, self._storage.journal, self._storage.blobs)
        return recording.run

    async def test_run(self, data: bytes) -> list[str]:
        """Replay an exported run and run it again; return what came out differently.

        Raises TamperedError when the file is no exported run.
        """
        recording = await read_recording(data)
        provider = await self._mapper_of(recording)
        faults = await check(recording, provider)
        if provider is None:
            return [*faults, "its provider is not configured here, so its requests are unproven"]
        consult = consult_here()
        found = await replay(recording.journal, recording.blobs, recording.run, provider, consult)
        faults += [f"this release words or judges it differently: {what}" for what in found.drift]
        if faults:
            return faults
        recorded = await load(recording.journal, recording.blobs, recording.run)
        return await rerun(recorded, recording.blobs, provider, consult)

    async def _mapper_of(self, recording: Recording) -> Provider | None:
        """What maps requests as a recorded run's provider did; None when it is not known here."""
        return self._mapper(await first_spec(recording.journal, recording.blobs, recording.run))

    async def verify(self, kept: KeptHeads | None = None) -> Verification:
        """Check every record, every blob and every workspace of the world (invariant 12).

        ``kept`` are heads of before, from :func:`artificer.runtime.kept.read_kept`: whether today's
        journal goes on from each of them is said in ``against``.
        """
        found = await verify(self._storage.journal, self._storage.blobs, kept)
        found.problems += await asyncio.to_thread(audit, self.workspaces)
        return found

    @property
    def workspaces(self) -> Workspaces:
        """The world's workspaces. What is asked of them blocks."""
        return build_workspaces(self._storage)

    async def fsck(self, *, repair: bool = False) -> Check:
        """Verify the world, and find what nothing refers to and what was never finished."""
        storage = self._storage
        check = await check_world(
            storage.journal, storage.blobs, storage.versions, storage.files, repair=repair
        )
        check.verification.problems += await asyncio.to_thread(audit, self.workspaces)
        return check

    async def gc(self, *, older_than_s: float = GRACE_S, dry_run: bool = False) -> Sweep:
        """Remove the blobs that nothing refers to. Raises TamperedError before it guesses."""
        storage = self._storage
        return await collect(
            storage.journal,
            storage.blobs,
            storage.versions,
            storage.files,
            older_than_s=older_than_s,
            dry_run=dry_run,
        )

    async def _heads(self) -> list[RunHead]:
        """Every run with a record; one that was acquired and died before it wrote has none."""
        return [head for head in await self._storage.journal.runs() if head.head.seq]

    async def _recorded_provider(self, run_id: str) -> Provider | None:
        return self._mapper(await first_spec(self._storage.journal, self._storage.blobs, run_id))

    def _mapper(self, spec: RunSpec | None) -> Provider | None:
        try:
            return build_mapper(spec.provider, spec.wire, self.config) if spec else None
        except ConfigError:
            return None  # the replay says that requests were not recomputed

    def _run(self, run_id: str, state: RunState) -> Run:
        return Run(run_id, state, self._storage.blobs)
