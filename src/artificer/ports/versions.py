"""The seam to the versions of workspaces."""

from __future__ import annotations

from typing import Protocol


class Versions(Protocol):
    """Which blob each version of each workspace is: only ever added to, the newest is the head.

    ``run`` is empty for the workspace itself, and names a run for that run's draft of it.
    """

    def head(self, name: str, run: str = "") -> tuple[int, str] | None:
        """The newest version's number and digest, or None where there is none."""

    def get(self, name: str, number: int, run: str = "") -> str | None:
        """A version's digest, or None for one that is not there."""

    def add(self, name: str, number: int, digest: str, run: str = "") -> bool:
        """Make a blob the version after the head, durably: compare and swap.

        False, and nothing has changed, unless ``number`` is one more than the head's.
        """

    def names(self, run: str = "") -> list[str]:
        """Every workspace's name, or of those a run has a draft of, in order."""
