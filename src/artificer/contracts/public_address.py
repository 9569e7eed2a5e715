"""Which addresses are public: the others are this machine, its network, or a cloud's metadata."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address, IPv6Network

_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
"""Prefixes in whose last 32 bits an IPv4 address stands (RFC 6052, RFC 8215)."""

_NOT_PUBLIC = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20", "fec0::/10"))
)
"""Networks that some releases of Python consider public: protocol assignments, relays of 6to4
(RFC 7526), documentation (RFC 9637), site-local addresses (RFC 3879)."""


def is_public(text: str) -> bool:
    """Whether an address belongs to the public internet, also the one that it may carry inside.

    The registries of RFC 6890 decide: loopback, private, link-local (where clouds keep their
    metadata), shared, reserved, multicast and unspecified addresses are not public.
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return _is_public(address) and all(_is_public(inner) for inner in _carried(address))


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if any(address in network for network in _NOT_PUBLIC):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _carried(address: IPv4Address | IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return ()
    last = IPv4Address(int(address) & 0xFFFF_FFFF)
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    found += [last for network in _NAT64 if address in network]
    return tuple(inner for inner in found if inner is not None)
