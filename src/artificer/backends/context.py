"""The parts of a world that executors are made with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from artificer.backends.sandbox.grants import Grants
from artificer.ports import (
    BlobStore,
    Executor,
    RunReader,
    SecretCleaner,
    SecretFinder,
    Versions,
)

if TYPE_CHECKING:
    from artificer.manifests.model import Manifest


class ToolServers(Protocol):
    """Servers of tools: connected to when they are first used, and closed with the run."""

    async def offered(self, only: Collection[str] | None = None) -> Sequence[Executor]:
        """Return executors for the tools that servers offer by themselves."""

    def wanted(self, manifests: Sequence[Manifest[Any]]) -> Sequence[Executor]:
        """Return executors for the tools that manifests name."""


class ExecutorContext(Struct, frozen=True, kw_only=True):
    """The parts of a world that executors are made with.

    ``blobs`` keeps bytes as they are, ``clean_blobs`` without the secrets of this process, which
    ``redactor`` takes out of texts; ``secrets`` finds those of references. ``now`` is in
    milliseconds since 1970. ``evidence`` is where calls get folders of their own, ``folder`` where
    programs run (default: the current one), and ``grants`` is what a sandbox lets them do.
    ``settings`` are the backend's own, if it has any. ``deps`` are what the program passed to the
    run for its functions.
    """

    blobs: BlobStore
    clean_blobs: BlobStore
    redactor: SecretCleaner
    secrets: SecretFinder
    versions: Versions
    reader: RunReader
    now: Callable[[], int]
    servers: ToolServers
    config_digest: str = ""
    evidence: Path | None = None
    folder: Path | None = None
    grants: Grants = field(default_factory=Grants)
    settings: Any = None
    deps: Any = None
