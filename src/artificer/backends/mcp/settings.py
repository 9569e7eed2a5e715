"""The settings of MCP servers: ``[mcp]`` of ``artificer.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from artificer.contracts.definition import EffectClass, Risk, Trust
from artificer.values.base import CheckedValue, Meta, field

ServerName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,32}\Z")]


class McpOAuthConfig(CheckedValue):
    """``[mcp.servers.NAME.oauth]``: a client of yours (RFC 6749 section 4.4, client credentials).

    ``client_secret`` may hold ``{_secret:name}``. It is sent to the authorization server that calls
    itself ``issuer``, and to no other one that the MCP server may name.
    """

    issuer: Annotated[str, Meta(pattern=r"^https?://.+\Z")]
    client_id: Annotated[str, Meta(min_length=1)]
    client_secret: Annotated[str, Meta(min_length=1)]
    scope: str | None = None
    auth_method: Literal["client_secret_basic", "client_secret_post"] = "client_secret_basic"


class McpServerConfig(CheckedValue):
    """Another MCP server: ``[mcp.servers.NAME]``, started by ``command`` or found at ``url``.

    Values of ``env`` and ``headers`` may hold ``{_secret:name}``. ``allow`` names the tools that
    are taken; with none, only manifests use the server. ``effect``, ``risk``, ``human_approval``,
    ``trust`` and ``sensitive`` are those of all its tools: what it says of them itself is not
    believed. With ``fencing`` it gets the idempotency key and the fencing token of each call, with
    ``trace`` the ``traceparent`` of its span.
    """

    command: tuple[str, ...] = ()
    url: Annotated[str, Meta(pattern=r"^(https?://.+)?\Z")] = ""
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    oauth: McpOAuthConfig | None = None
    allow: tuple[str, ...] | None = None
    effect: EffectClass = "once"
    risk: Risk = "low"
    human_approval: bool = False
    trust: Trust = "untrusted"
    sensitive: bool = False
    fencing: bool = False
    trace: bool = False
    timeout_seconds: Annotated[int, Meta(gt=0, le=86_400)] = 60
    start_seconds: Annotated[int, Meta(gt=0, le=600)] = 30

    def check(self) -> None:
        """Refuse a server that is neither started nor found, and one that is both."""
        if bool(self.command) == bool(self.url):
            raise self.invalid("", "needs either 'command' or 'url'")
        if self.oauth is not None and not self.url:
            raise self.invalid("", "'oauth' is for servers with a 'url'")


class McpConfig(CheckedValue):
    """``[mcp]``"""

    servers: Mapping[ServerName, McpServerConfig] = field(default_factory=dict)
