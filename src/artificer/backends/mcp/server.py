"""An MCP server as the operator configured it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from artificer.backends.mcp.oauth import OAuthClient
from artificer.backends.mcp.secrets import names_in


@dataclass(frozen=True)
class McpServer:
    """A server as the operator configured it: a command to start, or a URL.

    Values of ``env`` and ``headers`` may hold ``{_secret:name}``. ``oauth`` gets the tokens of a
    server behind a URL. With ``fencing`` and ``trace`` it gets what tells calls, their owners and
    their traces apart (`CallFacts`).
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    oauth: OAuthClient | None = None
    start_seconds: float = 30.0
    cwd: Path | None = None
    lock: Path | None = None
    """A lock that its processes hold as long as they live."""
    fencing: bool = False
    trace: bool = False

    @property
    def needed_secrets(self) -> Iterable[str]:
        """Return the names of the secrets that a connection needs."""
        if self.command:
            return names_in(self.env)
        return names_in(self.headers, self.oauth.filled if self.oauth else {})
