"""The settings of MCP servers: ``[mcp]`` of ``artificer.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from artificer.backends.settings import BackendSettings
from artificer.contracts.definition import EffectClass, Risk, Trust

ServerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,32}$")]


class McpOAuthConfig(BackendSettings):
    """``[mcp.servers.NAME.oauth]``: a client of yours (RFC 6749 section 4.4, client credentials).

    ``client_secret`` may hold ``{_secret:name}``. It is sent to the authorization server that calls
    itself ``issuer``, and to no other one that the MCP server may name.
    """

    issuer: str = Field(pattern=r"^https?://.+$")
    client_id: str = Field(min_length=1)
    client_secret: str = Field(min_length=1)
    scope: str | None = None
    auth_method: Literal["client_secret_basic", "client_secret_post"] = "client_secret_basic"


class McpServerConfig(BackendSettings):
    """Another MCP server: ``[mcp.servers.NAME]``, started by ``command`` or found at ``url``.

    Values of ``env`` and ``headers`` may hold ``{_secret:name}``. ``allow`` names the tools that
    are taken; with none, only manifests use the server. ``effect``, ``risk``, ``human_approval``,
    ``trust`` and ``sensitive`` are those of all its tools: what it says of them itself is not
    believed.
    """

    command: tuple[str, ...] = ()
    url: str = Field(default="", pattern=r"^(https?://.+)?$")
    env: Mapping[str, str] = Field(default_factory=dict)
    headers: Mapping[str, str] = Field(default_factory=dict)
    oauth: McpOAuthConfig | None = None
    allow: tuple[str, ...] | None = None
    effect: EffectClass = "once"
    risk: Risk = "low"
    human_approval: bool = False
    trust: Trust = "untrusted"
    sensitive: bool = False
    timeout_seconds: int = Field(default=60, gt=0, le=86_400)
    start_seconds: int = Field(default=30, gt=0, le=600)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("needs either 'command' or 'url'")
        if self.oauth is not None and not self.url:
            raise ValueError("'oauth' is for servers with a 'url'")
        return self


class McpConfig(BackendSettings):
    """``[mcp]``"""

    servers: Mapping[ServerName, McpServerConfig] = Field(default_factory=dict)
