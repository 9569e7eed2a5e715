"""The signals to leased runs, on another machine."""

from __future__ import annotations

import base64
import secrets

from msgspec import Struct

from artificer.storage.remote.client import ApiClient
from artificer.storage.remote.leases import HeldJobs


class _Signal(Struct):
    n: int
    body: str


class _SignalPage(Struct):
    signals: list[_Signal]
    more: bool


class _PostedSignal(Struct):
    n: int


class _NewSignals(Struct):
    position: int
    runs: list[str]


class RemoteSignals:
    """The `Signals` to the runs that this process has leased.

    ``wait_s`` is how long the server keeps a question for new ones.
    """

    def __init__(self, api: ApiClient, held: HeldJobs, wait_s: int) -> None:
        self._api = api
        self._held = held
        self._wait_s = wait_s

    async def post(self, run: str, body: bytes) -> int:
        """Post a signal to a leased run, or one that it has started. Raises Fenced."""
        job = self._held.of(run)
        data = base64.b64encode(body).decode()
        sent = {**job.token(), "of": run, "body": data, "request": secrets.token_hex(16)}
        found = await self._api.ask(_PostedSignal, "POST", ("jobs", job.run, "signals"), None, sent)
        return found.n

    async def read(self, run: str, after: int = 0) -> list[tuple[int, bytes]]:
        """Return the run's signals with a number greater than ``after``, in order."""
        job, found = self._held.of(run), list[tuple[int, bytes]]()
        while True:
            query = {**job.token(), "of": run, "after": max(0, after)}
            page = await self._api.ask(_SignalPage, "GET", ("jobs", job.run, "signals"), query)
            found += [(one.n, base64.b64decode(one.body)) for one in page.signals]
            if not page.more:
                return found
            after = found[-1][0]

    async def since(self, position: int | None) -> tuple[int, frozenset[str]]:
        """Return the position now, and the leased runs that got signals since an earlier one."""
        wait = 0 if position is None else self._wait_s
        query = {"position": position, "wait": wait}
        found = await self._api.ask(_NewSignals, "GET", ("signals",), query, wait=wait)
        return found.position, frozenset(found.runs)
