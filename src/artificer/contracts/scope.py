"""Which addresses, hosts and URLs the arguments of a tool may name.

A scope is what a folder's ``toolclad.toml`` says in ``[scope]``. What it blocks is blocked even
where it is allowed, and what it does not allow is out of scope. Names are compared as they are
written: nothing is resolved here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, NamedTuple
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator

from artificer.contracts.addresses import (
    IPNetwork,
    climbs,
    ip_of,
    is_host,
    network_of,
    readings,
    refuse_target,
    refuse_url,
)
from artificer.values.keys import KeyTable

URL_SCHEMES = ("http", "https", "ws", "wss", "ftp")
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}


class _Rule(NamedTuple):
    """One entry: exactly one of these is set."""

    network: IPNetwork | None = None
    host: str | None = None
    """A host name; with a leading dot, every name below it."""
    url: SplitResult | None = None


def _check(entry: str) -> str:
    _rule_of(entry)
    return entry


ScopeEntry = Annotated[str, AfterValidator(_check)]
"""An address, a network, a host name, ``*.domain``, ``*`` for every name, or a URL prefix."""


class Scope(KeyTable):
    """The names that are allowed: ``allow``, less ``block``."""

    allow: tuple[ScopeEntry, ...] = ()
    block: tuple[ScopeEntry, ...] = ()

    def refusal(self, target: str) -> str | None:
        """Why an address, a network, a host name or a URL is out of scope, or None.

        A network is in scope when all of it is, and blocked when any of it is.
        """
        is_url = "://" in target
        wrong = refuse_url(target, URL_SCHEMES) if is_url else refuse_target(target)
        if wrong:
            return wrong
        if any(_blocks(_rule_of(entry), target) for entry in self.block):
            return "is blocked by the scope"
        if not any(_allows(_rule_of(entry), target) for entry in self.allow):
            return "is out of scope"
        return None


def host_matches(host: str, pattern: str) -> bool:
    """Whether a host name is the pattern's, or lies below it when the pattern is ``*.domain``."""
    return _name_matches(_name(host), _name(pattern.removeprefix("*")))


# --- entries ----------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _rule_of(entry: str) -> _Rule:
    """Read an entry. Raises ValueError for one that is none of the kinds."""
    if "://" in entry:
        wrong = refuse_url(entry, URL_SCHEMES)
        if wrong:
            raise ValueError(f"{entry!r} {wrong}")
        return _Rule(url=urlsplit(entry))
    if network := _network(entry):
        return _Rule(network=network)
    if entry == "*":
        return _Rule(host=".")
    if not is_host(entry.removeprefix("*.")):
        raise ValueError(f"{entry!r} is not an address, network, host name, '*.domain' or URL")
    return _Rule(host=_name(entry.removeprefix("*")))


def _allows(rule: _Rule, target: str) -> bool:
    if rule.url is not None:
        return "://" in target and _below(urlsplit(target), rule.url)
    host = _host_of(target)
    network = _network(host)
    if network is not None:
        return rule.network is not None and _within(network, rule.network)
    return rule.host is not None and _name_matches(_name(host), rule.host)


def _blocks(rule: _Rule, target: str) -> bool:
    network = _network(_host_of(target))
    if rule.network is not None and network is not None:
        return _overlap(network, rule.network)
    if rule.url is not None:
        return "://" in target and _may_reach(urlsplit(target), rule.url)
    return _allows(rule, target)


def _host_of(target: str) -> str:
    return (urlsplit(target).hostname or "") if "://" in target else target


# --- names, networks, URLs --------------------------------------------------------------------


def _name(text: str) -> str:
    return text.lower().removesuffix(".")


def _name_matches(name: str, pattern: str) -> bool:
    """``.d`` is every name below ``d``, on any level, and not ``d``; "" is every name."""
    if not pattern:
        return True
    return name.endswith(pattern) and name != pattern if pattern[0] == "." else name == pattern


def _network(text: str) -> IPNetwork | None:
    """A network, or an address as the network of itself; what maps IPv4 is IPv4."""
    address = ip_of(text)
    found = network_of(f"{address}/{address.max_prefixlen}") if address else network_of(text)
    return _plain(found) if found else None


def _plain(network: IPNetwork) -> IPNetwork:
    """``::ffff:1.2.3.4`` reaches 1.2.3.4."""
    mapped = getattr(network.network_address, "ipv4_mapped", None)
    if mapped is None or network.prefixlen < 96:
        return network
    return network_of(f"{mapped}/{network.prefixlen - 96}") or network


def _within(inner: IPNetwork, outer: IPNetwork) -> bool:
    return (
        inner.version == outer.version
        and inner.prefixlen >= outer.prefixlen
        and inner.network_address in outer
    )


def _overlap(one: IPNetwork, other: IPNetwork) -> bool:
    return _within(one, other) or _within(other, one)


def _below(target: SplitResult, prefix: SplitResult) -> bool:
    """Whether a URL has the prefix's origin and lies in its path, by whole segments."""
    if climbs(target.path):
        return False  # where it ends up is the server's reading
    path = prefix.path.rstrip("/")
    return _origin(target) == _origin(prefix) and (target.path + "/").startswith(path + "/")


def _may_reach(target: SplitResult, prefix: SplitResult) -> bool:
    """Whether some server could read a URL as one below the prefix."""
    if _origin(target) != _origin(prefix):
        return False
    blocked = [_folded(segments) for segments in readings(prefix.path)]
    found = [_folded(segments) for segments in readings(target.path)]
    return climbs(target.path) or any(
        segments[: len(start)] == start for segments in found for start in blocked
    )


def _folded(segments: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(segment.casefold() for segment in segments)


def _origin(url: SplitResult) -> tuple[str, str, int | None]:
    return (url.scheme, _name(url.hostname or ""), url.port or _PORTS.get(url.scheme))
