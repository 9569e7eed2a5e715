"""People signed in by a reverse proxy, which names them in a header.

Anybody can write a header. It is believed only where the connection itself comes from one of the
configured addresses: headers that claim another address (``X-Forwarded-For``) are never read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.datastructures import Headers

from artificer.studio.tokens import TokenScope

PERSON: tuple[TokenScope, ...] = ("read", "act", "approve")
"""The rights of a person whom a proxy has let in, where the settings name no others."""

MAX_NAME = 200
"""Limit on the characters of a person's name."""


class ProxyIdentity:
    """Reads the name that a proxy at one of these addresses or networks has put into a header.

    ``rights`` are those of everybody whom it names.
    """

    def __init__(
        self, header: str, proxies: Sequence[str], rights: Iterable[TokenScope] = PERSON
    ) -> None:
        self.rights = frozenset(rights)
        self._header = header
        self._networks = [ip_network(proxy) for proxy in proxies]

    def name(self, address: str, headers: Headers) -> str | None:
        """Return the person's name, or None if no proxy of ours has named exactly one."""
        named = headers.getlist(self._header) if self._header else []
        if len(named) != 1 or not self._is_proxy(address):
            return None
        try:
            name = named[0].encode("latin-1").decode("utf-8")
        except UnicodeError:
            return None
        is_name = 0 < len(name) <= MAX_NAME and name.isprintable() and name == name.strip()
        return name if is_name else None

    def _is_proxy(self, address: str) -> bool:
        try:
            found = ip_address(address)
        except ValueError:  # no address, as of a socket of this machine
            return False
        if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        return any(found in network for network in self._networks)
