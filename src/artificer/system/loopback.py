"""The names and addresses under which a machine reaches itself."""

from __future__ import annotations

OWN_NAMES = frozenset({"127.0.0.1", "::1", "localhost"})
"""Hosts to which a token is sent without encryption: it does not leave the machine."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host.

    >>> is_loopback("127.0.0.2"), is_loopback("example.org")
    (True, False)
    """
    from ipaddress import ip_address  # slow to import, and OWN_NAMES needs nothing of it

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
