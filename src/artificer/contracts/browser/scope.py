"""Where the pages of a browser may come from."""

from __future__ import annotations

from artificer.contracts.addresses import ip_of, is_host
from artificer.contracts.keys.browser import BrowserScopeKeys
from artificer.contracts.scope import host_matches

ANY_PARENT = ".*"
"""The end of a pattern for every host of that first label, wherever it is."""


def host_refusal(scope: BrowserScopeKeys, host: str) -> str | None:
    """Why a host may not be reached, or None."""
    if any(_is_blocked(host, pattern) for pattern in scope.blocked_domains):
        return "is blocked"
    if scope.allow_external or any(host_matches(host, p) for p in scope.allowed_domains):
        return None
    return "is not an allowed domain"


def is_named(scope: BrowserScopeKeys, host: str) -> bool:
    """Whether a host is allowed by its very name: then it may also be one of a private network."""
    plain = (domain for domain in scope.allowed_domains if not domain.startswith("*"))
    return any(host_matches(host, domain) for domain in plain)


def takes_cookie(scope: BrowserScopeKeys, domain: str) -> bool:
    """Whether a cookie of this domain (with a leading dot: for all below it too) would be sent to a
    host that ``allowed_domains`` names. What ``allow_external`` adds is none of them.
    """
    named = scope.model_copy(update={"allow_external": False})
    host = domain.removeprefix(".")
    if host_refusal(named, host) is None:
        return True
    bases = (pattern.removeprefix("*.") for pattern in scope.allowed_domains)
    return domain.startswith(".") and any(f".{base}".endswith(domain) for base in bases)


def domain_fault(pattern: str, *, blocks: bool) -> str | None:
    """Why a text is no domain of a scope, or None."""
    if ip_of(pattern) or is_host(pattern.removeprefix("*.")):
        return None
    if blocks and is_host(pattern.removesuffix(ANY_PARENT)):
        return None
    kinds = "domain, '*.domain', 'name.*' or address" if blocks else "domain, '*.domain' or address"
    return f"{pattern!r} is no {kinds}"


def _is_blocked(host: str, pattern: str) -> bool:
    if pattern.endswith(ANY_PARENT):
        return host.lower().startswith(pattern.removesuffix("*").lower())
    return host_matches(host, pattern)
