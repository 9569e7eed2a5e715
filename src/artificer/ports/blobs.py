"""The seam to the content-addressed store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable


class BlobStore(Protocol):
    """Bytes by their digest."""

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their digest. Storing twice is storing once."""

    def get(self, digest: str) -> bytes:
        """Return the bytes.

        Raises:
            NotFoundError: no such blob.
            TamperedError: the stored bytes do not have this digest.
        """

    def has(self, digest: str) -> bool:
        """Whether the blob is there (its bytes are not verified)."""

    def digests(self) -> Iterable[str]:
        """Every stored digest, in no particular order."""


@runtime_checkable
class Joined(Protocol):
    """A blob store that also reads the blobs that a journal stored together with its records."""

    def joins(self, data: bytes) -> bool:
        """Whether a blob is one to be appended with the record that cites it."""
