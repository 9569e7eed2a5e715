"""The port to the versions of workspaces."""

from __future__ import annotations

from typing import Protocol


class Versions(Protocol):
    """The blob of each version of each workspace: append-only, and the newest is the head.

    ``run`` is empty for the workspace itself, and names a run for that run's draft of it.
    """

    def head(self, name: str, run: str = "") -> tuple[int, str] | None:
        """Return the newest version's number and digest, or None if there is none."""

    def get(self, name: str, number: int, run: str = "") -> str | None:
        """Return a version's digest, or None if it does not exist."""

    def add(self, name: str, number: int, digest: str, run: str = "") -> bool:
        """Make a blob the next version after the head, durably: compare and swap.

        Returns False, and changes nothing, unless ``number`` is one more than the head's.
        """

    def names(self, run: str = "") -> list[str]:
        """Return the names of all workspaces, or of those that a run has a draft of, in order."""
