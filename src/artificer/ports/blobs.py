"""The port to the content-addressed store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable


class BlobStore(Protocol):
    """Bytes by their digest."""

    def put(self, data: bytes) -> str:
        """Store the bytes durably and return their digest. Storing them again changes nothing."""

    def get(self, digest: str) -> bytes:
        """Return the bytes.

        Raises:
            NotFoundError: no such blob.
            TamperedError: the stored bytes do not have this digest.
        """

    def has(self, digest: str) -> bool:
        """Whether the blob exists (its bytes are not verified)."""

    def digests(self) -> Iterable[str]:
        """Every stored digest, in no particular order."""


@runtime_checkable
class Joined(Protocol):
    """A blob store that also reads the blobs that a journal stored together with its records."""

    def joins(self, data: bytes) -> bool:
        """Whether a blob should be appended together with the record that cites it."""


class AgingBlobs(Protocol):
    """Blobs stored apart from records, which can be removed when nothing refers to them."""

    def put_before(self, moment: float) -> Iterator[str]:
        """Yield the blobs last stored before a time (seconds since 1970)."""

    def remove(self, digest: str, moment: float) -> bool:
        """Remove a blob unless it was stored after a time; return whether that was done."""

    def touch(self, digests: Iterable[str]) -> None:
        """Treat blobs as stored now, because something is about to refer to them."""


class BlobFiles(AgingBlobs, Protocol):
    """The blobs of a world that are files, and the other files next to them."""

    def set_aside(self, digest: str, moment: float) -> Path | None:
        """Move a blob away unless it was stored after a time; return its new place."""

    def leftovers(self) -> list[Path]:
        """Return temporary files that no process is writing any more."""

    def foreign(self) -> list[Path]:
        """Return files among the blobs that are not blobs."""


@runtime_checkable
class HasAging(Protocol):
    """A storage whose separately stored blobs can be collected."""

    @property
    def aging(self) -> AgingBlobs:
        """The blobs stored apart from records."""


@runtime_checkable
class HasFiles(Protocol):
    """A storage that keeps blobs as files."""

    @property
    def files(self) -> BlobFiles:
        """The blobs that are files."""
