"""The versions of workspaces that leased jobs may see, on another machine."""

from __future__ import annotations

from msgspec import Struct

from artificer.storage.remote.client import ApiCall, ApiClient
from artificer.storage.remote.leases import HeldJob, HeldJobs


class _Version(Struct):
    number: int | None
    digest: str | None


class _Added(Struct):
    added: bool


class _Names(Struct):
    names: list[str]


class RemoteVersions:
    """The `Versions` that a job's spec grants, and the drafts of its runs."""

    def __init__(self, api: ApiClient, held: HeldJobs) -> None:
        self._api = api
        self._held = held

    def head(self, name: str, run: str = "") -> tuple[int, str] | None:
        """The newest version's number and digest, or None if there is none."""
        return self._find(name, None, run)

    def get(self, name: str, number: int, run: str = "") -> str | None:
        """A version's digest, or None for one that is not there."""
        found = self._find(name, number, run) if number > 0 else None
        return found[1] if found else None

    def add(self, name: str, number: int, digest: str, run: str = "") -> bool:
        """Make a blob the version after the head; False unless its number is the next."""
        if number < 1:
            return False
        job, call = self._job(run), ApiCall()
        body = {**job.token(), "name": name, "number": number, "digest": digest, "of": run}
        path = ("jobs", job.run, "versions")
        added = self._api.send(_Added, "POST", path, None, body, call=call).added
        # An answer may have been lost, and the second try comes too late for itself.
        return added or (call.tries > 1 and self.head(name, run) == (number, digest))

    def names(self, run: str = "") -> list[str]:
        """Every workspace's name that the job may see, or of those a run has a draft of."""
        job = self._job(run)
        query = {**job.token(), "of": run}
        return self._api.send(_Names, "GET", ("jobs", job.run, "workspaces"), query).names

    def _find(self, name: str, number: int | None, run: str) -> tuple[int, str] | None:
        job = self._job(run)
        query = {**job.token(), "name": name, "number": number, "of": run}
        found = self._api.send(_Version, "GET", ("jobs", job.run, "versions"), query)
        if found.number is None or found.digest is None:
            return None
        return found.number, found.digest

    def _job(self, run: str) -> HeldJob:
        return self._held.of(run) if run else self._held.candidates()[0]
