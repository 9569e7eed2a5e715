"""The port to stored states of runs."""

from __future__ import annotations

from typing import Protocol


class Snapshots(Protocol):
    """Earlier states of runs, derived from the journal and checked against it before use.

    A run's conversation is stored in chunks, so that only new messages have to be written.
    """

    def put(self, run: str, state: bytes, first: int, chunk: bytes) -> None:
        """Replace the stored state, and store the messages from ``first`` on.

        With 0, all earlier messages are forgotten.
        """

    def get(self, run: str) -> tuple[bytes, list[bytes]] | None:
        """The run's last state, and its chunks of messages in order."""

    def drop(self, run: str) -> None:
        """Forget a run."""
