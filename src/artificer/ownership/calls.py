"""Locks that show whether the processes of calls are still alive.

The processes of a call hold its lock, ``<project>/calls/OWNER/KEY``. Servers that several calls
share hold a lock of their owner, ``<project>/owners/ID.servers``, and processes that functions have
forked another one, ``ID.forked``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from artificer.ownership.descendants import descendants
from artificer.ownership.fifo import holders, is_held
from artificer.ownership.process import CALLS, FOLDER, FORKED, SERVERS, ProcessOwner
from artificer.ports import CallLocks

PATIENCE_S = 5.0
"""How long to wait for a dead owner's processes to end before its calls become ambiguous."""

_PAUSE_S = 0.02


class ProjectLocks(Struct, frozen=True):
    """The locks of a project's calls. ``patience_s`` limits the wait for them."""

    owner: ProcessOwner
    patience_s: float = PATIENCE_S

    def of(self, key: str) -> CallLocks:
        """Return the locks that the processes of a call hold, by its idempotency key."""
        owner = self.owner
        return CallLocks(owner.calls / key, owner.servers, owner.id, owner.forked)

    async def held(self, keys: Iterable[str]) -> dict[str, str]:
        """Wait until the processes of these calls, and servers of dead owners, are gone.

        So are the processes that functions of dead owners had started: nobody knows of which call.
        Return the reason for each call whose processes still live, naming them.
        """
        wanted = list(keys)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.patience_s
        # Other processes set no event.
        while (left := self._left_by(wanted)) and loop.time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE_S)
        return {key: _why(*whose) for key, whose in left.items()}

    def forget(self, keys: Iterable[str]) -> None:
        """Remove the locks of calls with recorded results."""
        for key in keys:
            for path in self._calls(key):
                with suppress(OSError):
                    path.unlink()

    def _calls(self, key: str) -> list[Path]:
        """Return the locks of a call: of all owners in whose hands its run was."""
        calls = self.owner.project / CALLS
        found = []
        with suppress(OSError):
            found = [entry / key for entry in calls.iterdir() if (entry / key).exists()]
        # an older release put it there
        return [*found, calls / key]

    def _left_by(self, keys: Iterable[str]) -> dict[str, tuple[list[Path], list[int]]]:
        """Return the held locks and the living processes that keep calls uncertain, by their keys.

        The processes that functions had started are those of every call.
        """
        started = descendants(self.owner.died)
        found = {key: (self._locks(key), started) for key in keys}
        return {key: left for key, left in found.items() if any(left)}

    def _locks(self, key: str) -> list[Path]:
        """Return the held locks that keep a call's result uncertain."""
        return [path for path in (*self._calls(key), *self._left()) if is_held(path)]

    def _left(self) -> list[Path]:
        """Return the locks of servers with dead owners, and of what their functions had forked."""
        servers: list[Path] = []
        forked: list[Path] = []
        with suppress(OSError):
            servers = sorted((self.owner.project / FOLDER).glob(f"*{SERVERS}"))
            forked = sorted((self.owner.project / FOLDER).glob(f"*{FORKED}"))
        return [
            *(path for path in servers if not self.owner.lives(path.stem)),
            *(path for path in forked if self.owner.died(path.stem)),
        ]


def _why(locks: Iterable[Path], started: Iterable[int]) -> str:
    pids = sorted({*started, *(pid for path in locks for pid in holders(path))})
    who = f"process {', '.join(map(str, pids))}" if pids else "a process"
    return f"What its former owner had started was still alive: {who}."
