"""The runs that wait for a slot: by priority, tenants in turn, lanes within their limits."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from artificer.ports import DispatchedRun

_Line = tuple[int, str, str]


class Turns:
    """The runs that wait for a free slot.

    A run of a higher priority comes first. Among those of one priority, the tenant comes first
    that was served longest ago, so that one which submits much delays itself alone.
    """

    def __init__(self) -> None:
        self._lines: dict[_Line, deque[DispatchedRun]] = {}
        self._served: dict[str, int] = {}
        self._count = 0

    def __len__(self) -> int:
        """How many runs wait."""
        return sum(map(len, self._lines.values()))

    def add(self, wanted: DispatchedRun) -> None:
        """Add a run behind the others of its tenant, priority and lane."""
        line = (wanted.priority, wanted.tenant, wanted.lane)
        self._lines.setdefault(line, deque()).append(wanted)

    def put_back(self, wanted: DispatchedRun) -> None:
        """Add a run that was taken before the others of its tenant, priority and lane."""
        line = (wanted.priority, wanted.tenant, wanted.lane)
        self._lines.setdefault(line, deque()).appendleft(wanted)

    def remove(self, wanted: DispatchedRun) -> None:
        """Take a run out of its line, wherever it stands there."""
        line = (wanted.priority, wanted.tenant, wanted.lane)
        runs = self._lines.get(line)
        if runs is not None and wanted in runs:
            runs.remove(wanted)
            if not runs:
                del self._lines[line]

    def next(self, full: Collection[str] = ()) -> DispatchedRun | None:
        """Take the run whose turn it is; none of a lane that is ``full``."""
        free = [line for line in self._lines if line[2] not in full]
        if not free:
            return None
        line = min(free, key=lambda line: (line[0], self._served.get(line[1], 0)))
        runs = self._lines[line]
        wanted = runs.popleft()
        if not runs:
            del self._lines[line]
        self._count += 1
        self._served[wanted.tenant] = self._count
        if not any(tenant == wanted.tenant for _, tenant, _ in self._lines):
            del self._served[wanted.tenant]
        return wanted
