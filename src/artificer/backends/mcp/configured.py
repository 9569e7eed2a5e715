"""MCP servers from their settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from artificer.backends.mcp.oauth import OAuthClient
from artificer.backends.mcp.server import McpServer
from artificer.backends.mcp.servers import McpServers, Offer
from artificer.backends.mcp.settings import McpServerConfig
from artificer.backends.mcp.spec.tools import McpContract
from artificer.backends.receipts import Now
from artificer.ports import BlobStore
from artificer.secrets.resolver import Secrets


def configured(
    servers: Mapping[str, McpServerConfig],
    lock: Path | None,
    blobs: BlobStore,
    now: Now,
    secrets: Secrets,
) -> McpServers:
    """Return the servers. ``lock`` is held by the programs of those that are started, ``now`` is
    the time of the evidence, ``secrets`` finds the values of references.
    """
    offers = (_offer(name, own, lock) for name, own in servers.items())
    return McpServers(offers, blobs, now, secrets)


def _offer(name: str, server: McpServerConfig, lock: Path | None) -> Offer:
    return Offer(
        McpServer(
            name=name,
            command=server.command,
            url=server.url,
            env=server.env,
            headers=server.headers,
            oauth=None if server.oauth is None else OAuthClient(**server.oauth.to_json()),
            start_seconds=server.start_seconds,
            lock=lock,
            fencing=server.fencing,
            trace=server.trace,
        ),
        McpContract(
            effect=server.effect,
            risk=server.risk,
            human_approval=server.human_approval,
            trust=server.trust,
            sensitive=server.sensitive,
            timeout_ms=server.timeout_seconds * 1000,
        ),
        server.allow,
    )
