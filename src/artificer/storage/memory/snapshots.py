"""Kept states of runs, in memory."""

from __future__ import annotations


class MemorySnapshots:
    """`Snapshots` that die with their process."""

    def __init__(self) -> None:
        self._states: dict[str, bytes] = {}
        self._chunks: dict[str, dict[int, bytes]] = {}

    def put(self, run: str, state: bytes, first: int, chunk: bytes) -> None:
        """Keep a state and the messages from ``first`` on."""
        chunks = self._chunks.setdefault(run, {})
        if first == 0:
            chunks.clear()
        if chunk:
            chunks[first] = chunk
        self._states[run] = state

    def get(self, run: str) -> tuple[bytes, list[bytes]] | None:
        """The run's last state, and its chunks of messages in order."""
        if run not in self._states:
            return None
        return self._states[run], [body for _, body in sorted(self._chunks[run].items())]

    def drop(self, run: str) -> None:
        """Forget a run."""
        self._states.pop(run, None)
        self._chunks.pop(run, None)
