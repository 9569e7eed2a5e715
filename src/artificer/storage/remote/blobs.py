"""The blobs of leased jobs, on another machine. What was read is kept for a while."""

from __future__ import annotations

import base64
import threading
from collections import OrderedDict
from collections.abc import Iterable

from msgspec import Struct

from artificer.errors import NotFoundError, OperatorError, TamperedError
from artificer.storage.blobs.joined import LARGEST
from artificer.storage.blobs.names import hex_of, not_found
from artificer.storage.remote.client import ApiClient
from artificer.storage.remote.leases import HeldJob, HeldJobs
from artificer.values.canon import digest_of

KEPT_BYTES = 64_000_000
"""Bytes of blobs that are kept in memory."""

MAX_SEEN = 10_000
"""Digests that are remembered; then the oldest are forgotten."""

MAX_BLOB = 33_000_000
"""Bytes of a blob that the API takes."""

_BETWEEN = "Check the server's disk, and what is between it and this machine; then try again."


class _Stored(Struct):
    digest: str


class RemoteBlobs:
    """A `BlobStore` of the jobs that this process has leased: it sees those of these alone."""

    def __init__(self, api: ApiClient, held: HeldJobs) -> None:
        self._api = api
        self._held = held
        self._kept = OrderedDict[str, bytes]()
        self._size = 0
        self._seen = dict[str, None]()
        self._lock = threading.Lock()

    def joins(self, data: bytes) -> bool:
        """Whether a blob is short enough to be sent with the record that cites it."""
        return len(data) <= LARGEST

    def put(self, data: bytes) -> str:
        """Store the bytes durably, for the job at hand, and return their digest.

        Raises:
            OperatorError: they are too many, or the server cannot be reached.
        """
        if len(data) > MAX_BLOB:
            raise OperatorError(
                f"A worker over HTTP stores at most {MAX_BLOB:,} bytes at once.",
                hint="Let a worker with access to the database execute this run.",
            )
        encoded = base64.b64encode(data).decode()
        for job in self._held.candidates():
            body = {**job.token(), "data": encoded}
            path = ("jobs", job.run, "blobs")
            stored = self._api.send(_Stored, "POST", path, None, body)
            if stored.digest != digest_of(data):
                what = "The server has stored other bytes than this worker sent."
                raise TamperedError(what, hint=_BETWEEN)
        self._keep(digest_of(data), data)
        return digest_of(data)

    def get(self, digest: str) -> bytes:
        """Return the bytes. Raises NotFoundError, TamperedError, UnreachableError."""
        with self._lock:
            if digest in self._kept:
                self._kept.move_to_end(digest)
                return self._kept[digest]
        if hex_of(digest) is None:
            raise not_found(digest)
        for job in self._held.candidates():
            data = self._find(job, digest)
            if data is not None:
                if digest_of(data) != digest:
                    what = f"The server sent other bytes than those of {digest}."
                    raise TamperedError(what, hint=_BETWEEN)
                self._keep(digest, data)
                return data
        raise not_found(digest)

    def has(self, digest: str) -> bool:
        """Whether the blob is there, and of a job of this process."""
        try:
            self.get(digest)
        except NotFoundError:
            return False
        return True

    def digests(self) -> Iterable[str]:
        """The digests that this process has put or read last."""
        with self._lock:
            return list(self._seen)

    def _find(self, job: HeldJob, digest: str) -> bytes | None:
        try:
            path = ("jobs", job.run, "blobs", digest)
            return self._api.send(bytes, "GET", path, job.token())
        except NotFoundError:
            return None

    def _keep(self, digest: str, data: bytes) -> None:
        with self._lock:
            self._seen[digest] = None
            if len(self._seen) > MAX_SEEN:
                del self._seen[next(iter(self._seen))]
            if digest not in self._kept and len(data) <= KEPT_BYTES:
                self._kept[digest] = data
                self._size += len(data)
            while self._size > KEPT_BYTES:
                _, old = self._kept.popitem(last=False)
                self._size -= len(old)
