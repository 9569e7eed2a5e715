"""A backend as it is registered: what its manifests declare, and what performs their calls.

Those built in are listed in ``manifests/registry.py``; an installed package adds one through the
entry-point group ``artificer.backends``, under the name of its section. ``examples/plugin`` is a
package that does so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel

from artificer.backends.sandbox.sandbox import Grants
from artificer.backends.secrets.redaction import Redactor
from artificer.errors import ConfigError
from artificer.manifests.model import Manifest, ManifestFile
from artificer.manifests.registry import BACKENDS, RegisteredBackend
from artificer.ports import BlobStore, Executor, RunReader, Versions

Granted = TypeVar("Granted")


class ToolServers(Protocol):
    """Servers of tools: connected to when they are first used, and closed with the run."""

    async def offered(self, only: Collection[str] | None = None) -> Sequence[Executor]:
        """Return executors for the tools that servers offer by themselves."""

    def wanted(self, manifests: Sequence[Manifest[Any]]) -> Sequence[Executor]:
        """Return executors for the tools that manifests name."""


@dataclass(frozen=True, kw_only=True)
class ExecutorContext:
    """The parts of a world that executors are made with.

    ``blobs`` keeps bytes as they are, ``clean_blobs`` without the secrets of this process's
    environment, which ``redactor`` takes out of texts. ``now`` is in milliseconds since 1970.
    ``evidence`` is where calls get folders of their own, ``folder`` where programs run (default:
    the current one), and ``grants`` is what a sandbox lets them do. ``settings`` are the
    backend's own, if it has any.
    """

    blobs: BlobStore
    clean_blobs: BlobStore
    redactor: Redactor
    versions: Versions
    reader: RunReader
    now: Callable[[], int]
    servers: ToolServers
    config_digest: str = ""
    evidence: Path | None = None
    folder: Path | None = None
    grants: Grants = field(default_factory=Grants)
    settings: Any = None


@dataclass(frozen=True, kw_only=True)
class Backend(RegisteredBackend):
    """A backend for manifests.

    ``executors`` makes what performs the calls of its files, all of one folder. ``settings`` is
    the model of its table ``[backends.NAME]`` of ``artificer.toml``, if it has one.
    """

    executors: Callable[[Sequence[ManifestFile[Any]], ExecutorContext], Iterable[Executor]]
    settings: type[BaseModel] | None = None


@dataclass(frozen=True, kw_only=True)
class Capability(Generic[Granted]):
    """A backend that no manifest declares: its tools come with a capability of the run."""

    executors: Callable[[Granted, ExecutorContext], Iterable[Executor]]


def backend_of(name: str) -> Backend:
    """Return the backend of that name. Raises ConfigError where nothing performs its calls."""
    found = BACKENDS.get(name)
    if not isinstance(found, Backend):
        raise ConfigError(
            f"Nothing here performs the calls of [{name}].",
            hint="Install the package that adds this section, in a release made for this one.",
        )
    return found
