"""Authorization at MCP servers behind a URL, with the credentials of the operator's client.

The SDK finds the authorization server and asks it for tokens. They live as long as the connection,
and are taken out of what the server answers like every other secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from artificer.backends.mcp.secrets import ServerSecrets

if TYPE_CHECKING:
    import httpx2
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken


@dataclass(frozen=True)
class OAuthClient:
    """A client that an authorization server knows. ``client_secret`` may hold ``{_secret:name}``.

    ``issuer`` is that server: no other one is sent the secret.
    """

    issuer: str
    client_id: str
    client_secret: str
    scope: str | None = None
    auth_method: Literal["client_secret_basic", "client_secret_post"] = "client_secret_basic"

    @property
    def filled(self) -> Mapping[str, str]:
        """Return the texts that secrets are put into."""
        return {"client_secret": self.client_secret}


class Tokens:
    """The tokens of one connection, which are secrets of it."""

    def __init__(self, secrets: ServerSecrets) -> None:
        self._secrets = secrets
        self._tokens: OAuthToken | None = None
        self._client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """The last ones."""
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep them."""
        self._tokens = tokens
        self._secrets.learn("access token", tokens.access_token)
        if tokens.refresh_token:
            self._secrets.learn("refresh token", tokens.refresh_token)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client."""
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep it."""
        self._client = client_info


async def authorization(client: OAuthClient, url: str, secrets: ServerSecrets) -> httpx2.Auth:
    """Return the authorization of requests to the server at ``url``.

    Raises ConfigError for a secret that is not set.
    """
    from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

    filled = await secrets.fill(client.filled)
    return ClientCredentialsOAuthProvider(
        server_url=url,
        storage=Tokens(secrets),
        client_id=client.client_id,
        client_secret=filled["client_secret"],
        token_endpoint_auth_method=client.auth_method,
        scope=client.scope,
        issuer=client.issuer,
    )
