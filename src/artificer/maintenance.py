"""Maintenance of a world: finding damage, removing unreferenced data, correcting its budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

from artificer.backends.workspace.audit import audit
from artificer.backends.workspace.service import Workspaces
from artificer.config import Config
from artificer.errors import AuthorError, NotFoundError, OperatorError
from artificer.ports import Amount, Correction, Prunable
from artificer.runtime.keeping import (
    GRACE_S,
    CollectedBlobs,
    StorageCheck,
    check_world,
    collect,
)
from artificer.runtime.load import Loaded, load
from artificer.runtime.progress import ReportProgress, unreported
from artificer.runtime.proving.verify import cited
from artificer.runtime.pruning import half_pruned, remove_files
from artificer.system.removal import in_short
from artificer.system.utc import is_utc_day, utc_day
from artificer.values.arguments import plain, shown, whole
from artificer.values.parameters import named_parameters
from artificer.wiring.engines import idle_engine
from artificer.wiring.resources import WorldResources, resources_over
from artificer.wiring.storage import open_to_read


@named_parameters()
@dataclass(frozen=True, eq=False)
class Maintenance:
    """The maintenance of one world."""

    _resources: WorldResources

    @classmethod
    @asynccontextmanager
    async def open_to_read(cls, config: Config) -> AsyncIterator[Self]:
        """Open a world to check it. Nothing is created, and every change is refused."""
        resources = await resources_over(config, await open_to_read(config))
        try:
            yield cls(resources)
        finally:
            await resources.aclose()

    async def fsck(
        self, *, repair: bool = False, progress: ReportProgress = unreported
    ) -> StorageCheck:
        """Verify the world, and find unreferenced and unfinished data."""
        storage = self._resources.storage
        check = await check_world(
            storage.journal,
            storage.blobs,
            storage.versions,
            storage.files,
            storage.aging,
            repair=repair,
            progress=progress,
        )
        if repair and (index := storage.search_index) is not None and index.reached().position:
            await asyncio.to_thread(index.clear)
            check.repaired.append("cleared the index of texts: the next search makes it again")
        if repair and await self._index_runs_again(progress):
            check.repaired.append("made the index of runs again")
        workspaces = Workspaces(storage.blobs, storage.versions, self._resources.clock.now)
        check.verification.problems += await asyncio.to_thread(audit, workspaces)
        check.verification.problems += [
            f"Run {run} was pruned only in part: something of it is left. "
            f"`artificer prune {run} --forever` deletes the rest."
            for run in await half_pruned(storage.journal, self._resources.config.project_folder)
        ]
        return check

    async def _index_runs_again(self, progress: ReportProgress) -> bool:
        """Rebuild the index of runs, if there is one; return whether that was done."""
        index = self._resources.storage.run_index
        try:
            if index is None or not (await asyncio.to_thread(index.reached)).position:
                return False
            await asyncio.to_thread(index.clear)
            return not await self._resources.lister.update(progress=progress)
        except OperatorError:  # it is a cache: lists do without
            return False

    async def gc(
        self,
        *,
        older_than_s: float = GRACE_S,
        dry_run: bool = False,
        progress: ReportProgress = unreported,
    ) -> CollectedBlobs:
        """Remove unreferenced blobs. Raises TamperedError if that cannot be determined."""
        storage = self._resources.storage
        return await collect(
            storage.journal,
            storage.blobs,
            storage.versions,
            storage.aging,
            older_than_s=older_than_s,
            dry_run=dry_run,
            progress=progress,
        )

    async def prune(
        self, run_id: str, *, by: str = "", reason: str = "", discard: bool = False
    ) -> None:
        """Remove the contents of a finished run's records, signals and views, for good.

        A tombstone replaces them, and their hashes stay, so that `Archive.verify` still works. The
        next :meth:`gc` removes blobs that nothing else refers to. ``discard`` also prunes a
        completed build whose work is nowhere else. Where an earlier attempt was interrupted, this
        one does the rest; :meth:`fsck` names such runs.

        Raises:
            OperatorError: the run, or one that it is part of, is not finished, or it is a completed
                build that was not promoted.
            NotFoundError: no such run, or it was pruned before, and nothing of it is left.
            OperatorError: the run was pruned, but files of it could not be removed.
        """
        storage, project = self._resources.storage, self._resources.config.project_folder
        journal = storage.journal
        try:
            loaded = await load(journal, storage.blobs, run_id)
        except NotFoundError:
            if not await half_pruned(journal, project, run_id):
                raise
        else:
            await self._erase(loaded, by, reason, discard)
        await self._forget(run_id)
        if left := await asyncio.to_thread(remove_files, project, run_id):
            raise OperatorError(
                f"Run {run_id} was pruned, but files of it could not be removed. {in_short(left)}",
                hint=f"Make them removable, then repeat: artificer prune {run_id} --forever",
            )

    async def _erase(self, loaded: Loaded, by: str, reason: str, discard: bool) -> None:
        """Record the tombstone of a run, unless that was done, and empty its records."""
        from artificer.wiring.builds import unpromoted

        run_id, storage, config = loaded.run, self._resources.storage, self._resources.config
        journal, aging = storage.journal, storage.aging
        decided = discard or loaded.tombstone
        if not decided and (lost := await unpromoted(config, run_id, loaded.state)):
            raise OperatorError(
                lost, hint=f"artificer build promote {run_id}; or prune it with --discard."
            )
        if not isinstance(journal, Prunable):
            raise OperatorError(
                "This world's storage cannot delete the contents of records.",
                hint="Keep its runs, or export them and delete the whole world.",
            )
        epoch, records = await idle_engine(self._resources).record_pruning(run_id, by, reason)
        if aging is not None:  # a fork may be citing them at this moment
            digests = {digest for line in loaded.lines for digest in cited(line)}
            await asyncio.to_thread(aging.touch, digests)
        await self._forget(run_id)  # now: that records are empty is what later says that this was
        await journal.erase(run_id, epoch, records)

    async def _forget(self, run_id: str) -> None:
        """Remove what caches hold of a run. A reader may add it as long as its records have it."""
        storage = self._resources.storage
        storage.snapshots.drop(run_id)
        if storage.search_index is not None:
            await asyncio.to_thread(storage.search_index.clear)
        if storage.run_index is not None:
            await asyncio.to_thread(storage.run_index.forget, run_id)

    async def correct_budget(
        self,
        *,
        tokens: int | None = None,
        micros: int | None = None,
        day: str | None = None,
        by: str = "",
        reason: str = "",
    ) -> Amount:
        """Correct a day's cost after a wrong report, and return its total.

        ``day`` is a UTC date, by default today. Values that are None are not changed. The
        correction is recorded in the journal's chain, with who made it and why. Raises AuthorError
        for an argument that cannot be used.
        """
        now = self._resources.clock.now()
        correction = Correction(
            tokens=None if tokens is None else whole("tokens", tokens),
            micros=None if micros is None else whole("micros", micros),
            by=plain("by", by),
            reason=plain("reason", reason),
            at=now,
        )
        if day is not None and not is_utc_day(plain("day", day)):
            raise AuthorError(
                f"day is {shown(day)}, not a date.", hint="Pass day='2026-11-21', a date in UTC."
            )
        return await self._resources.storage.budget.correct(day or utc_day(now), correction)
