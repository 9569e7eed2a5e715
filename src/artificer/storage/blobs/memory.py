"""The blob store in memory: the twin of the one on disk."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.storage.blobs.names import not_found
from artificer.values.canon import digest_of


class MemoryStore:
    """A `BlobStore` that dies with its process."""

    def __init__(self) -> None:
        self._blobs: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        """Store the bytes and return their digest. Storing twice is storing once."""
        digest = digest_of(data)
        self._blobs.setdefault(digest, data)
        return digest

    def get(self, digest: str) -> bytes:
        """Return the bytes. Raises NotFoundError; nothing can have changed them meanwhile."""
        if digest not in self._blobs:
            raise not_found(digest)
        return self._blobs[digest]

    def has(self, digest: str) -> bool:
        """Whether the blob is there."""
        return digest in self._blobs

    def digests(self) -> Iterable[str]:
        """Every stored digest, as of now."""
        return list(self._blobs)
