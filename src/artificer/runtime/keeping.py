"""Cleaning up a world: removing what nothing refers to, and nothing else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from artificer.errors import ArtificerError, TamperedError
from artificer.ports import (
    AgingBlobs,
    Auditable,
    BlobFiles,
    BlobStore,
    Journal,
    Prunable,
    Rebuildable,
    SmallBlobs,
    Versions,
)
from artificer.runtime.progress import ReportProgress, unreported
from artificer.runtime.proving.verify import Verification, verify
from artificer.runtime.reach import reachable

ATTEMPTS = 5
"""The limit on repeated scans of a journal's blobs because runs continued meanwhile."""

GRACE_S = 3600
"""Seconds for which a blob stays though nothing refers to it: a writer may be about to."""


@dataclass
class CollectedBlobs:
    """The blobs that a collection removed, or would remove."""

    files: int = 0
    bytes: int = 0
    small: int = 0
    kept: int = 0


async def collect(
    journal: Journal,
    blobs: BlobStore,
    versions: Versions,
    aging: AgingBlobs | None,
    *,
    older_than_s: float = GRACE_S,
    dry_run: bool = False,
    progress: ReportProgress = unreported,
) -> CollectedBlobs:
    """Remove the blobs that nothing refers to. Runs may continue meanwhile.

    Blobs that were put apart from records go only when they were not put for ``older_than_s``;
    those in the journal only in a moment in which no record has come since they were found.

    Raises:
        TamperedError: something cannot be read, or is not as it was written: what it refers to is
            not known.
    """
    await _require_whole(journal)
    moment = time.time() - older_than_s
    old = set[str]()
    if aging is not None:
        old.update(await asyncio.to_thread(lambda: list(aging.put_before(moment))))
    collected = CollectedBlobs()
    for _ in range(ATTEMPTS):
        position = await journal.position() if isinstance(journal, Prunable) else 0
        reached = await reachable(journal, blobs, versions, progress)
        collected.kept = len(reached)
        if not isinstance(journal, Prunable):
            break
        loose, sizes = await asyncio.to_thread(_loose, journal.small, reached)
        if not loose or dry_run or await journal.forget(loose, position):
            collected.small, collected.bytes = len(loose), sum(sizes)
            break
    if aging is not None:
        await asyncio.to_thread(
            _remove, collected, blobs, aging, sorted(old - reached), moment, dry_run
        )
    return collected


async def _require_whole(journal: Journal) -> None:
    """Raise TamperedError for a journal that may have lost a run or a version, and so references.

    The tables that name them follow from the chain: what a lost row led to may be restored.
    """
    if isinstance(journal, Auditable) and (problems := await journal.audit()):
        raise TamperedError(
            f"What the journal refers to is not known. {problems[0]}",
            hint="Nothing is removed. `artificer fsck` lists the damage; --repair restores tables.",
        )


def _loose(small: SmallBlobs, reached: set[str]) -> tuple[list[str], list[int]]:
    """Return the blobs in the journal that nothing refers to, and their sizes."""
    loose = sorted(set(small.digests()) - reached)
    return loose, [len(small.find(digest) or b"") for digest in loose]


def _remove(
    collected: CollectedBlobs,
    blobs: BlobStore,
    aging: AgingBlobs,
    digests: Iterable[str],
    moment: float,
    dry_run: bool,
) -> None:
    """Remove blobs that were put before a moment, and count them."""
    for digest in digests:
        size = len(_bytes(blobs, digest))
        if dry_run or aging.remove(digest, moment):
            collected.files += 1
            collected.bytes += size


def _bytes(blobs: BlobStore, digest: str) -> bytes:
    try:
        return blobs.get(digest)
    except ArtificerError:
        return b""


@dataclass
class StorageCheck:
    """The result of checking a whole world; ``repaired`` is what was put in order.

    ``foreign`` are files that Artificer did not make. They are reported and never touched.
    """

    verification: Verification
    orphans: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong. What nothing refers to is untidy, not wrong."""
        return self.verification.sound


async def check_world(
    journal: Journal,
    blobs: BlobStore,
    versions: Versions,
    files: BlobFiles | None,
    aging: AgingBlobs | None,
    *,
    repair: bool = False,
    progress: ReportProgress = unreported,
) -> StorageCheck:
    """Verify everything, and find what nothing refers to and what was never finished.

    ``repair`` does only what is safe: it puts tables back as the chain says, removes leftovers,
    and puts orphans aside.
    """
    repaired = await journal.rebuild() if repair and isinstance(journal, Rebuildable) else []
    check = StorageCheck(await verify(journal, blobs, progress=progress), repaired=repaired)
    if aging is None:
        return check
    moment = time.time() - GRACE_S
    old = set(await asyncio.to_thread(lambda: [*aging.put_before(moment)]))
    try:
        if not check.verification.sound:
            await _require_whole(journal)
        check.orphans = sorted(old - await reachable(journal, blobs, versions, progress))
    except ArtificerError as error:
        check.verification.problems.append(f"Orphans cannot be found: {error.message}")
    if files is None:
        return check
    leftovers = await asyncio.to_thread(files.leftovers)
    check.leftovers = [str(path) for path in leftovers]
    check.foreign = [str(path) for path in await asyncio.to_thread(files.foreign)]
    if repair:
        for path in leftovers:
            path.unlink(missing_ok=True)
            check.repaired.append(f"removed {path}")
        for digest in check.orphans:
            aside = files.set_aside(digest, moment)
            if aside is not None:
                check.repaired.append(f"moved {digest} to {aside}")
    return check
