"""Who may reach the studio where it listens, and under which names."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from artificer.config import StudioConfig
from artificer.errors import ConfigError
from artificer.studio.tokens import ApiTokens
from artificer.system.loopback import is_loopback

_THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")


def check_host(host: str, settings: StudioConfig, tokens: ApiTokens) -> None:
    """Refuse to let others in where nothing says who they are. Raises ConfigError."""
    if is_loopback(host):
        return
    if not settings.identity_header and not tokens.valid():
        raise ConfigError(
            f"On {host} other machines can reach the studio, but nothing identifies their users.",
            hint="Create a token (artificer studio token new NAME), or set identity_header and "
            "proxies in [studio].",
        )
    if _is_every_address(host) and not settings.hosts:
        raise ConfigError(
            f"The studio needs a host name to listen on {host}.",
            hint='Name it in artificer.toml: [studio] hosts = ["studio.example.org"].',
        )


def names_of(host: str, port: int, more: Iterable[str]) -> frozenset[str]:
    """Return the Host headers that are answered; ``more`` may be reached through a proxy."""
    own = set() if _is_every_address(host) else {f"[{host}]" if ":" in host else host}
    if is_loopback(host) or _is_every_address(host):
        own |= {*_THIS_MACHINE}
    return frozenset({f"{name}:{port}" for name in {*own, *more}} | set(more))


def _is_every_address(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False
