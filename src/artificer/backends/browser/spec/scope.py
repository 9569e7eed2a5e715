"""Where the pages of a browser may come from."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from artificer.backends.browser.spec.keys import BrowserScopeKeys
from artificer.contracts.addresses import ip_of, is_host
from artificer.contracts.scope import host_matches

ANY_PARENT = ".*"
"""The end of a pattern for every host of that first label, wherever it is."""

DEFAULT_PORTS = (80, 443)
"""The ports that a scope opens on a loopback host that it names without one. A page must not reach
the other services of its machine.
"""

_WITH_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+)):([1-9][0-9]{0,4}|\*)")

_EVERY_PORT = 0


class _Place(NamedTuple):
    """A pattern for hosts, and the port if it names one; ``*`` is _EVERY_PORT."""

    host: str
    port: int | None = None


def place_in(url: str) -> tuple[str, int]:
    """Return the host and the port of a URL. Raises ValueError."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme == "https"]


def host_refusal(scope: BrowserScopeKeys, host: str, port: int | None) -> str | None:
    """Why a port of a host may not be reached, or None. Without a port: why no port of it may."""
    if any(_is_blocked(host, port, _place(pattern)) for pattern in scope.blocked_domains):
        return "is blocked"
    named = [p for p in map(_place, scope.allowed_domains) if host_matches(host, p.host)]
    if scope.allow_external or any(_opens(place, host, port) for place in named):
        return None
    return f"is allowed, but not its port {port}" if named else "is not an allowed domain"


def is_named(scope: BrowserScopeKeys, host: str, port: int) -> bool:
    """Whether a port of a host is allowed by the host's very name: then the host may also be one of
    a private network.
    """
    places = (p for p in map(_place, scope.allowed_domains) if not p.host.startswith("*"))
    return any(host_matches(host, p.host) and _opens(p, host, port) for p in places)


def names_port(scope: BrowserScopeKeys, host: str, port: int) -> bool:
    """Whether a scope names this very port of a host."""
    places = map(_place, scope.allowed_domains)
    return any(p.port in (port, _EVERY_PORT) and host_matches(host, p.host) for p in places)


def is_loopback(host: str) -> bool:
    """Whether a host, by its name or as an address, is this machine."""
    address = ip_of(host)
    if address is None:
        name = host.lower().removesuffix(".")
        return name == "localhost" or name.endswith(".localhost")
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def takes_cookie(scope: BrowserScopeKeys, domain: str) -> bool:
    """Whether a cookie of this domain (with a leading dot: for all below it too) would be sent to a
    host that ``allowed_domains`` names. What ``allow_external`` adds is none of them.
    """
    named = scope.replace(allow_external=False)
    host = domain.removeprefix(".")
    if host_refusal(named, host, None) is None:
        return True
    bases = (_place(pattern).host.removeprefix("*.") for pattern in scope.allowed_domains)
    return domain.startswith(".") and any(f".{base}".endswith(domain) for base in bases)


def domain_fault(pattern: str, *, blocks: bool) -> str | None:
    """Return why a text is not a domain of a scope, or None."""
    host, port = _place(pattern)
    is_port = port is None or port <= 65_535
    if is_port and (ip_of(host) or is_host(host.removeprefix("*."))):
        return None
    if is_port and blocks and is_host(host.removesuffix(ANY_PARENT)):
        return None
    kinds = "domain, '*.domain', 'name.*' or address" if blocks else "domain, '*.domain' or address"
    return f"{pattern!r} is not a {kinds}, with or without ':port'"


def _place(pattern: str) -> _Place:
    """Read ``host``, ``host:port`` or ``[address]:port``."""
    found = _WITH_PORT.fullmatch(pattern)
    if found is None:
        return _Place(pattern)
    return _Place(found[1] or found[2], _EVERY_PORT if found[3] == "*" else int(found[3]))


def _opens(place: _Place, host: str, port: int | None) -> bool:
    if port is None or place.port is not None:
        return port is None or place.port in (port, _EVERY_PORT)
    return port in DEFAULT_PORTS or not is_loopback(host)


def _is_blocked(host: str, port: int | None, place: _Place) -> bool:
    if place.port not in (None, _EVERY_PORT, port):
        return False
    if place.host.endswith(ANY_PARENT):
        return host.lower().startswith(place.host.removesuffix("*").lower())
    return host_matches(host, place.host)
