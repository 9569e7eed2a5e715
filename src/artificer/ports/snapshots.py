"""The seam to kept states of runs."""

from __future__ import annotations

from typing import Protocol


class Snapshots(Protocol):
    """States of runs as they were: derived from the journal, and proven by it before use.

    A run's conversation is kept in chunks, so that keeping it costs what is new.
    """

    def put(self, run: str, state: bytes, first: int, chunk: bytes) -> None:
        """Keep a state in the place of the last one, and the messages from ``first`` on.

        With 0, all earlier messages are forgotten.
        """

    def get(self, run: str) -> tuple[bytes, list[bytes]] | None:
        """The run's last state, and its chunks of messages in order."""

    def drop(self, run: str) -> None:
        """Forget a run."""
