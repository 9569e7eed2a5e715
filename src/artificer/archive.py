"""Reading a world: its runs, their records, its budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Self, Unpack

from msgspec import Struct, field

from artificer.config import Config, load_config
from artificer.errors import ArtificerError, NotFoundError
from artificer.ports import Clock, Provider, Storage
from artificer.runs import History, Run
from artificer.runtime.listing.queued import waits_for_worker
from artificer.runtime.listing.runs import find_run, newest, recorded_runs
from artificer.runtime.load import first_spec, load
from artificer.runtime.progress import ReportProgress, unreported
from artificer.runtime.waiting import has_untaken, questions_below
from artificer.system.clock import SystemClock
from artificer.values.arguments import instance, plain, whole
from artificer.values.base import JsonObject
from artificer.values.canon import digest_of
from artificer.values.parameters import named_parameters
from artificer.wiring.storage_kinds import opened

if TYPE_CHECKING:
    from artificer.backends.workspace.service import Workspaces
    from artificer.runtime.builds.tree import BuildNode
    from artificer.runtime.explaining.explanation import Explanation
    from artificer.runtime.family import ChildNode
    from artificer.runtime.limits.day_budget import DayBudget
    from artificer.runtime.listing.lister import RunFilter, RunLister, RunListing
    from artificer.runtime.listing.search import Hit
    from artificer.runtime.listing.summary import RunSummary
    from artificer.runtime.proving.compare import Comparison
    from artificer.runtime.proving.kept import KeptHeads
    from artificer.runtime.proving.replay import Replay
    from artificer.runtime.proving.verify import Verification
    from artificer.wiring.resources import WorldResources


@named_parameters()
class Archive(Struct, frozen=True, eq=False, dict=True):
    """One project's journal and blobs, read-only: nothing here calls models or runs tools."""

    config: Config
    _storage: Storage
    _clock: Clock = field(default_factory=SystemClock)
    _providers: Mapping[str, Provider] = {}
    _shared_lister: RunLister | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: Config | None = None, *, indexing: bool = False
    ) -> AsyncIterator[Self]:
        """Open the world of this project to be read, as ``artificer.toml`` and the environment say.

        Nothing is created or changed, even if there is no world yet. With ``indexing``, a search
        keeps its index up to date if it can write it.
        """
        config = config or load_config()
        storage = await opened(config, read_only=True, indexing=indexing)
        try:
            yield cls(config, storage)
        finally:
            await storage.aclose()

    async def budget(self) -> DayBudget:
        """Return what the project has spent today, and its limits."""
        from artificer.runtime.limits.day_budget import day_budget

        now = self._clock.now()
        return await day_budget(self._storage.budget, self.config.budget.day, now)

    async def get(self, run_id: str) -> Run:
        """Read a run. Raises NotFoundError, TamperedError."""
        return (await self.history(run_id)).run

    async def history(self, run_id: str) -> History:
        """Read a run with its records. Raises NotFoundError, TamperedError."""
        loaded = await load(self._storage.journal, self._storage.blobs, run_id)
        storage, state = self._storage, loaded.state
        below = await questions_below(storage, run_id, state)
        run: Run = Run(run_id, state, storage.blobs, lambda: loaded.lines, _questions_below=below)
        return History(run, loaded.lines)

    async def has_signals(self, run_id: str) -> bool:
        """Whether a run, or one that it waits for, has unread signals.

        Raises NotFoundError, TamperedError.
        """
        state = (await self.get(run_id)).state
        return await has_untaken(self._storage, run_id, state)

    async def data(self, run_id: str, label: str) -> bytes:
        """Return the data of a call with a label (``disk_usage#2``), as exact JSON.

        Raises NotFoundError if no call has this label, or its result has no data.
        """
        for source in (await self.get(run_id)).state.sources:
            if source.label == label and source.digest is not None:
                return self._storage.blobs.get(source.digest)
        raise NotFoundError(f"No result {label!r} has data.", hint=f"artificer show {run_id}")

    async def runs(self) -> list[str]:
        """The ids of all runs, oldest first."""
        return await recorded_runs(self._storage.journal)

    async def summaries(
        self, limit: int | None = None, *, builds: bool = True, before: str | None = None
    ) -> list[RunSummary]:
        """The newest ``limit`` runs (all for None), oldest first; with ``before``, older than it.

        A finished one is read from two records. Without ``builds``, none that a build started.
        """
        from artificer.runtime.listing.summary import summarise

        journal, blobs = self._storage.journal, self._storage.blobs
        found: list[RunSummary] = []
        async for head in newest(journal, builds=builds, before=before):
            if len(found) == limit:
                break
            found.append(await summarise(journal, blobs, head))
        return found[::-1]

    async def list_runs(
        self,
        limit: int = 50,
        before: str | None = None,
        *,
        at_once: bool = False,
        progress: ReportProgress = unreported,
        **wanted: Unpack[RunFilter],
    ) -> RunListing:
        """List the runs that match a filter, newest first; ``before`` is ``next`` of a page.

        The first list of a world reads all its runs, and ``progress`` is called meanwhile; later
        ones read only what is new. With ``at_once``, a list that would have to read much covers
        only the newest runs, and says so in ``searched``.

        >>> page = await world.archive.list_runs(status="failed", text="invoice")
        >>> for run in page.runs:
        ...     print(run.run, run.model, run.turns, run.prompt)
        """
        from artificer.runtime.listing.lister import run_query

        query = run_query(**wanted)
        return await self._lister.page(query, limit, before, at_once=at_once, progress=progress)

    async def count_runs(self) -> dict[str, int]:
        """Return the number of runs by status, from the index, which is a cache.

        Returns nothing if the index does not exist yet: :meth:`index_runs` creates it.
        """
        return await self._lister.counts()

    async def index_runs(self, progress: ReportProgress = unreported) -> None:
        """Bring the index of runs up to date. Raises OperatorError."""
        await self._lister.update(progress=progress)

    async def tree(self, run_id: str) -> list[BuildNode]:
        """The runs that a build started, as a tree; empty for any other run.

        Raises NotFoundError, TamperedError.
        """
        history = await self.history(run_id)
        if history.run.state.build is None:
            return []
        from artificer.runtime.builds.tree import build_tree

        return await build_tree(self._storage, run_id, history.lines)

    async def children(self, run_id: str) -> list[ChildNode]:
        """The runs of the agents that a run called as tools, each followed by its own children.

        Raises NotFoundError, TamperedError.
        """
        from artificer.runtime.family import children_of

        lines = (await self.history(run_id)).lines
        return await children_of(self._storage.journal, self._storage.blobs, run_id, lines)

    async def search(
        self,
        words: str,
        limit: int = 20,
        *,
        kind: str | None = None,
        since: int = 0,
        progress: ReportProgress = unreported,
    ) -> list[Hit]:
        """Find the records whose text contains all the words, newest first.

        Prompts, follow-ups, replies, calls and their results are searched for words,
        ``"phrases"`` and beginnings of words (``word*``), without case and accents; of runs of a
        ``kind``, and recorded at ``since`` or later (milliseconds since 1970-01-01 UTC).
        ``progress`` is called while texts are indexed that were not.

        >>> for hit in await world.archive.search('"overdue invoice" march'):
        ...     print(hit.run, hit.seq, hit.snippet)
        """
        from artificer.runtime.listing.search import searcher

        return await searcher(self._storage, words, kind, since).hits(limit, progress)

    async def find(self, word: str) -> str:
        """Return the id of the only run that starts with ``word``, or of the newest for ``last``.

        Raises:
            NotFoundError: none does, or several do.
        """
        return await find_run(self._storage.journal, plain("word", word))

    async def replay(self, run_id: str, *, model: Provider | None = None) -> Replay:
        """Reduce a run's journal again and compare every digest. Raises NotFoundError."""
        from artificer.policies.engine import consult_here
        from artificer.runtime.proving.replay import replay
        from artificer.wiring.providers import mapper_of

        journal, blobs = self._storage.journal, self._storage.blobs
        spec = await first_spec(journal, blobs, run_id)
        provider = model or mapper_of(spec, self.config, self._providers)
        return await replay(journal, blobs, run_id, provider, consult_here())

    async def diff(self, run_id: str, other_id: str) -> Comparison:
        """Return where two runs first differ, and how. Raises NotFoundError, TamperedError."""
        from artificer.runtime.proving.compare import compare

        journal, blobs = self._storage.journal, self._storage.blobs
        one, other = await load(journal, blobs, run_id), await load(journal, blobs, other_id)
        return compare(one, other, blobs)

    async def explain(self, run_id: str) -> Explanation:
        """Return a run's status, its reasons, and what to do next.

        Raises NotFoundError, TamperedError.
        """
        from artificer.runtime.explaining.explanation import explained

        return await explained(self._storage, self.config.project_folder, run_id)

    async def export_run(self, run_id: str) -> bytes:
        """Return a run with all its blobs as one compressed file, the same bytes every time.

        Raises:
            NotFoundError: no such run, or a blob of it is missing.
            TamperedError: its journal is not what was written.
        """
        from artificer.recordings.export import export
        from artificer.recordings.file import compress

        return compress(await export(self._storage.journal, self._storage.blobs, run_id))

    async def verify(
        self, kept: KeptHeads | None = None, progress: ReportProgress = unreported
    ) -> Verification:
        """Check every record, every blob and every workspace of the world (invariant 12).

        ``kept`` are earlier heads, from `KeptHeads.read`; ``against`` of the result
        says whether today's journal extends each of them. ``progress`` is called after
        each step.
        """
        from artificer.backends.workspace.audit import audit
        from artificer.runtime.proving.kept import KeptHeads
        from artificer.runtime.proving.verify import verify

        if kept is not None:
            instance("kept", kept, KeptHeads, "Read them: artificer.types.KeptHeads.read(text).")
        found = await verify(self._storage.journal, self._storage.blobs, kept, progress)
        found.problems += await asyncio.to_thread(audit, self.workspaces)
        return found

    @property
    def workspaces(self) -> Workspaces:
        """The world's workspaces. Their methods block."""
        from artificer.backends.workspace.service import Workspaces

        return Workspaces(self._storage.blobs, self._storage.versions, self._clock.now)

    @cached_property
    def _lister(self) -> RunLister:
        from artificer.runtime.listing.lister import RunLister

        return self._shared_lister or RunLister(self._storage)


def archive_of(resources: WorldResources) -> Archive:
    """Return the read-only part of a world."""
    providers, storage = resources.providers.own, resources.storage.storage
    return Archive(resources.config, storage, resources.clock, providers, resources.lister)


async def is_queued(archive: Archive, history: History) -> bool:
    """Whether a run waits for a worker to start it. Raises OperatorError."""
    run, journal = history.run, archive._storage.journal
    records = len(history.lines)
    return await waits_for_worker(journal, run.id, run.state.run_spec, run.status, records)


async def unreachable(archive: Archive) -> str:
    """Make a small read; return which part does not answer: ``journal`` or ``blobs``."""
    try:
        await archive._storage.journal.runs(limit=1)
    except ArtificerError:
        return "journal"
    try:
        await asyncio.to_thread(archive._storage.blobs.has, digest_of(b""))
    except ArtificerError:
        return "blobs"
    return ""


async def runs_half_pruned(archive: Archive) -> list[str]:
    """Return the ids of runs whose pruning was interrupted, so that something of them is left."""
    from artificer.runtime.pruning import half_pruned

    return await half_pruned(archive._storage.journal, archive.config.project_folder)


async def trail(archive: Archive, since: int = 0) -> AsyncIterator[JsonObject]:
    """Yield every decision and effect of all runs, in the order of the world's chain.

    Of those recorded at ``since`` or later (milliseconds since 1970-01-01 UTC). The last entry
    says how many there were, and where the chain ended. Raises TamperedError.
    """
    from artificer.runtime.proving.trail import Trail
    from artificer.wiring.secrets import redactor_of_everything

    storage, cleaner = archive._storage, redactor_of_everything(archive.config)
    async for entry in Trail(storage.journal, storage.blobs, cleaner).entries(
        whole("since", since)
    ):
        yield entry
