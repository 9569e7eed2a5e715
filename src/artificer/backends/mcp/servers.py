"""All MCP servers of a program: what they offer, and what manifests want of them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from artificer.backends.mcp.connection import McpLink
from artificer.backends.mcp.executor import McpExecutor, McpTool, discover
from artificer.backends.mcp.server import McpServer
from artificer.backends.mcp.spec.keys import McpKeys
from artificer.backends.mcp.spec.tools import McpContract, RemoteTool
from artificer.backends.receipts import Now
from artificer.errors import ConfigError
from artificer.manifests.model import Manifest
from artificer.ports import BlobStore
from artificer.ports.clock import wall_time
from artificer.secrets.resolver import ENVIRONMENT, Secrets


@dataclass(frozen=True)
class Offer:
    """A server, the contract of its tools, and those that are taken: all of them for None."""

    server: McpServer
    contract: McpContract
    allow: tuple[str, ...] | None = None


class McpServers:
    """The servers by their names. Each is connected to when it is first needed."""

    def __init__(
        self,
        offers: Iterable[Offer],
        blobs: BlobStore | None = None,
        now: Now = wall_time,
        secrets: Secrets = ENVIRONMENT,
    ) -> None:
        """``now`` is the time of the evidence, ``secrets`` finds the values of references."""
        self._offers = {offer.server.name: offer for offer in offers}
        self._now = now
        self._secrets = secrets
        self._links: dict[str, McpLink] = {}
        self._blobs = blobs

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def offered(self, only: Collection[str] | None = None) -> list[McpExecutor]:
        """An executor for the tools of each server, or of those named in ``only``.

        Raises ConfigError when a server cannot be used.
        """
        names = [
            name
            for name, offer in self._offers.items()
            if offer.allow != () and (only is None or name in only)
        ]
        links = [self._link(name) for name in names]
        found = await asyncio.gather(
            *(
                discover(link, self._offers[name].contract, self._offers[name].allow)
                for name, link in zip(names, links, strict=True)
            ),
            return_exceptions=True,
        )
        executors = []
        for link, tools in zip(links, found, strict=True):
            if isinstance(tools, BaseException):
                raise tools
            executors.append(McpExecutor(link, tools, blobs=self._blobs, now=self._now))
        return executors

    def wanted(self, manifests: Sequence[Manifest[McpKeys]]) -> list[McpExecutor]:
        """An executor for each server that manifests with ``[mcp]`` name.

        Raises ConfigError for a server that is not configured.
        """
        by_server: dict[str, list[McpTool]] = {}
        for manifest in manifests:
            tool = McpTool(
                RemoteTool(remote=manifest.part.tool, definition=manifest.definition),
                arguments=manifest.arguments,
                field_map=manifest.part.field_map,
                scope=manifest.scope,
            )
            by_server.setdefault(manifest.part.server, []).append(tool)
        return [
            McpExecutor(self._link(name), tools, blobs=self._blobs, now=self._now)
            for name, tools in by_server.items()
        ]

    async def aclose(self) -> None:
        """Close every connection."""
        links, self._links = [*self._links.values()], {}
        await asyncio.gather(*(link.aclose() for link in links))

    def _link(self, name: str) -> McpLink:
        if name not in self._offers:
            known = ", ".join(self._offers) or "none"
            raise ConfigError(
                f"Unknown MCP server: {name!r}.",
                hint=f"Known: {known}. Configure others in [mcp.servers.{name}] of artificer.toml.",
            )
        if name not in self._links:
            self._links[name] = McpLink(self._offers[name].server, self._secrets)
        return self._links[name]
