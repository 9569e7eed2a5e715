"""A world that another machine keeps, as one object."""

from __future__ import annotations

import os
from collections.abc import Mapping

from artificer.errors import ConfigError
from artificer.ports import SharedLimit, Storage, StoragePlace
from artificer.storage.memory.snapshots import MemorySnapshots
from artificer.storage.remote.blobs import RemoteBlobs
from artificer.storage.remote.budget import RemoteBudget
from artificer.storage.remote.client import ApiClient
from artificer.storage.remote.journal import RemoteJournal
from artificer.storage.remote.leases import HeldJobs
from artificer.storage.remote.permits import RemotePermits
from artificer.storage.remote.signals import RemoteSignals
from artificer.storage.remote.versions import RemoteVersions
from artificer.system.home import expanded

TOKEN, TOKEN_FILE = "ARTIFICER_API_TOKEN", "ARTIFICER_API_TOKEN_FILE"

WAIT_S = 10
"""Seconds that the server keeps a question for new signals."""


class RemoteStorage:
    """A `Storage` of the jobs that this process has leased from a studio.

    Nothing is kept here but copies: what a run records is on the server before its effect starts.
    """

    def __init__(self, api: ApiClient, *, wait_s: int = WAIT_S) -> None:
        self.api = api
        self.held = HeldJobs()
        self.journal = RemoteJournal(api, self.held)
        """The records of leased runs."""
        self.blobs = RemoteBlobs(api, self.held)
        """The blobs of leased runs."""
        self.signals = RemoteSignals(api, self.held, wait_s)
        """The signals to leased runs."""
        self.budget = RemoteBudget(api, self.held)
        """The accounts that leased runs spend from."""
        self.versions = RemoteVersions(api, self.held)
        """The versions of workspaces that leased runs may see."""
        self.permits = RemotePermits(api, self.held)
        """The permits of the world, for requests to models."""
        self.snapshots = MemorySnapshots()
        """Kept states of leased runs, in memory."""

    @property
    def request_limits(self) -> Mapping[str, tuple[SharedLimit, ...]]:
        """The limits of requests that all workers of the world share, by provider and model."""
        return self.permits.limits

    async def aclose(self) -> None:
        """Close the connections. It may be called more than once."""
        self.api.close()


class RemoteKind:
    """The kind of storage whose URL is that of a studio."""

    async def open(self, place: StoragePlace) -> Storage:
        """Connect to a studio, and check that its token may work.

        Raises:
            ConfigError: the URL or the token cannot be used, or the world is only to be read.
            AccessError: the token is not valid, or may not work.
            UnreachableError: nothing answers.
        """
        if place.read_only:
            raise ConfigError(
                "A world accessed through a studio can be read only in that studio.",
                hint="`artificer worker --api URL` executes runs of it.",
            )
        api = ApiClient(place.url, token_of_environment())
        storage = RemoteStorage(api)
        try:
            await storage.signals.since(None)
        except BaseException:  # an interrupt too: nobody else could close it
            api.close()
            raise
        return storage


def token_of_environment() -> str:
    """Return the token of this process: an argument could be seen by others.

    Raises:
        ConfigError: there is none.
    """
    token, file = os.environ.get(TOKEN, ""), os.environ.get(TOKEN_FILE, "")
    if not token and file:
        try:
            token = expanded(file).read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise ConfigError(
                f"{TOKEN_FILE} names a file that cannot be read: {error}.",
                hint=f"Correct the path, or set {TOKEN}.",
            ) from error
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable():
        raise ConfigError(
            f"A worker needs a token, in {TOKEN} or in the file {TOKEN_FILE}.",
            hint="artificer studio token new NAME --scope work",
        )
    return token


REMOTE = RemoteKind()
