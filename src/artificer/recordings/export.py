"""Exporting a run: its records and blobs in one file, to be replayed anywhere."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.errors import OperatorError
from artificer.ports import BlobStore, Journal
from artificer.recordings.file import MAX_BYTES, RecordingHeader, blob_line, to_file
from artificer.runtime.load import Loaded, load
from artificer.runtime.proving.verify import cited
from artificer.values.arguments import MAX_RUN_ID, is_file_name


async def export(journal: Journal, blobs: BlobStore, run: str, limit: int = MAX_BYTES) -> bytes:
    """Return a run as the bytes of a recording.

    Raises:
        NotFoundError: there is no such run.
        TamperedError: its journal was changed after it was written.
        OperatorError: the recording would have more than ``limit`` bytes, or the run's id cannot
            be in one.
    """
    loaded, kept = await gather(journal, blobs, run, limit)
    if not is_file_name(run):  # releases before the limit began runs with any id
        raise _unreadable(
            run, f"an id that is longer than {MAX_RUN_ID} characters or names no file"
        )
    found = await journal.read(run, limit=loaded.head.seq)  # it may have gone on meanwhile
    records = [{"record": record.body.decode()} for record in found]
    header = RecordingHeader(run=run, state=loaded.state.digest, head=loaded.head)
    lines = [header.to_json(), *records, *(blob_line(data) for data in kept.values())]
    data = to_file(lines)
    if len(data) > limit:
        raise _unreadable(run, f"more than {limit:,} bytes")
    return data


def _unreadable(run: str, why: str) -> OperatorError:
    return OperatorError(
        f"A recording of run {run} would have {why}: no release would read it.",
        hint="Nothing was written. Copy the world's folder instead, or export the report: "
        f"artificer export {run} --format zip",
    )


async def gather(
    journal: Journal, blobs: BlobStore, run: str, limit: int | None = None
) -> tuple[Loaded, dict[str, bytes]]:
    """Load a run and every blob that it refers to.

    Raises OperatorError as soon as the blobs have more than ``limit`` bytes.
    """
    kept = _Reading(blobs, run, limit)
    loaded = await load(journal, kept, run)
    for line in loaded.lines:
        for digest in cited(line):
            kept.get(digest)
    return loaded, kept.read


class _Reading:
    """A blob store that remembers what was read from it, up to a limit."""

    def __init__(self, inner: BlobStore, run: str, limit: int | None) -> None:
        self._inner = inner
        self._run = run
        self._limit = limit
        self._bytes = 0
        self.read: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        return self._inner.put(data)

    def get(self, digest: str) -> bytes:
        if digest not in self.read:
            data = self.read[digest] = self._inner.get(digest)
            self._bytes += len(data)
            if self._limit is not None and self._bytes > self._limit:
                raise _unreadable(self._run, f"more than {self._limit:,} bytes")
        return self.read[digest]

    def has(self, digest: str) -> bool:
        return self._inner.has(digest)

    def digests(self) -> Iterable[str]:
        return self._inner.digests()
