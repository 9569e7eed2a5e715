"""The MCP servers that are configured."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from artificer.config import Config, McpServerConfig
from artificer.errors import OperatorError
from artificer.wiring.secrets import clean_blobs
from artificer.wiring.storage import Storage

if TYPE_CHECKING:
    from artificer.backends.mcp.servers import McpServers, Offer


def build_servers(config: Config, storage: Storage) -> McpServers:
    """The MCP servers that are configured. None is started, or connected to, before it is used."""
    from artificer.backends.mcp.servers import McpServers

    commands = any(server.command for server in config.mcp.servers.values())
    lock = None
    if commands and storage.locks is not None:
        with suppress(OperatorError):  # a run, which must own something, will say why not
            lock = storage.locks.owner.servers
    return McpServers(
        (_offer(name, server, lock) for name, server in config.mcp.servers.items()),
        clean_blobs(storage, config),
    )


def _offer(name: str, server: McpServerConfig, lock: Path | None) -> Offer:
    from artificer.backends.mcp.connection import McpServer
    from artificer.backends.mcp.oauth import OAuthClient
    from artificer.backends.mcp.servers import Offer
    from artificer.contracts.mcp.tools import Contract

    return Offer(
        McpServer(
            name=name,
            command=server.command,
            url=server.url,
            env=server.env,
            headers=server.headers,
            oauth=None if server.oauth is None else OAuthClient(**dict(server.oauth)),
            start_seconds=server.start_seconds,
            lock=lock,
        ),
        Contract(
            effect=server.effect,
            risk=server.risk,
            human_approval=server.human_approval,
            trust=server.trust,
            sensitive=server.sensitive,
            timeout_ms=server.timeout_seconds * 1000,
        ),
        server.allow,
    )
