"""The MCP servers of a configuration."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from artificer.errors import OperatorError
from artificer.plugins import load
from artificer.ports import Executor
from artificer.wiring.resources import WorldResources

if TYPE_CHECKING:
    from artificer.manifests.model import Manifest


class ConfiguredServers:
    """The servers of a configuration. Nothing is imported, started or connected to before it is
    used: most runs use none.
    """

    def __init__(self, world: WorldResources) -> None:
        self._world = world
        self._servers: Any = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._servers is not None:
            await self._servers.aclose()

    async def offered(self, only: Collection[str] | None = None) -> Sequence[Executor]:
        """Return an executor for the tools of each server, or of those named in ``only``.

        Raises ConfigError when a server cannot be used.
        """
        if not self._world.config.mcp.servers or only == set():
            return []
        found: Sequence[Executor] = await self._opened().offered(only)
        return found

    def wanted(self, manifests: Sequence[Manifest[Any]]) -> Sequence[Executor]:
        """Return an executor for each server that manifests with ``[mcp]`` name.

        Raises ConfigError for a server that is not configured.
        """
        found: Sequence[Executor] = self._opened().wanted(manifests)
        return found

    def _opened(self) -> Any:
        if self._servers is None:
            servers, lock = self._world.config.mcp.servers, None
            if self._world.storage.locks is not None and any(s.command for s in servers.values()):
                with suppress(OperatorError):  # a run, which must own something, will say why not
                    lock = self._world.storage.locks.owner.servers
            configured = load("artificer.backends.mcp.configured:configured")
            self._servers = configured(
                servers,
                lock,
                self._world.clean_blobs,
                self._world.clock.now,
                self._world.secrets,
            )
        return self._servers


def build_servers(world: WorldResources) -> ConfiguredServers:
    """Return the MCP servers that are configured."""
    return ConfiguredServers(world)
