"""Addresses, parsed strictly: not everything that some C library accepts is one.

``2130706433``, ``0x7f.1`` and ``127.1`` reach 127.0.0.1 through ``inet_aton``; a zone id
(``fe80::1%x --flood y``) may hold anything, blanks included; a name in another script may look
like a name in ours (``docs/manifests.md``).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

MAX_HOST = 253
"""Characters of a host name (RFC 1035 section 2.3.4)."""

_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_URL_LABEL = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_URL_HOST = re.compile(rf"{_URL_LABEL}(\.{_URL_LABEL})*\.?")
_ENDS_IN_NUMBER = re.compile(r"(.*\.)?([0-9]+|0[xX][0-9A-Fa-f]*)\.?")
_BRACKETED = re.compile(r"\[[^\[\]]*\](:[0-9]*)?")
_CIDR = re.compile(r"[0-9A-Fa-f:.]+/[0-9]{1,3}")
_URL_TEXT = re.compile(r"[A-Za-z0-9._~:/?#@!$&'()*+,;=%\[\]-]+")
"""RFC 3986's characters: everything else must be percent-encoded."""


def ip_of(text: str) -> IPAddress | None:
    """The address that a text writes; None for anything else, zone ids included."""
    try:
        return None if "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def network_of(text: str) -> IPNetwork | None:
    """The network that a text writes as ``address/bits``; host bits may be set."""
    try:
        return ipaddress.ip_network(text, strict=False) if _CIDR.fullmatch(text) else None
    except ValueError:
        return None


def is_host(text: str) -> bool:
    """Whether a text is an ASCII host name that nothing takes for a number.

    A name whose last label is a number is an address to some resolvers (WHATWG URL section 3.5).
    """
    return len(text) <= MAX_HOST and bool(_HOST.fullmatch(text)) and not _ends_in_number(text)


def _ends_in_number(text: str) -> bool:
    return _ENDS_IN_NUMBER.fullmatch(text) is not None


def refuse_target(text: str) -> str | None:
    """Why a text is no scope target: an address, a network or an ASCII host name.

    Internationalised names are refused in both spellings: they may look like another name.
    """
    if "xn--" in text.lower() and any(n[:4].lower() == "xn--" for n in text.split(".")):
        return "holds a punycode label, which may look like another name"
    if is_host(text) or ip_of(text) or network_of(text):
        return None
    return "is not an IP address, a network in CIDR notation or a host name"


def refuse_url(text: str, schemes: tuple[str, ...]) -> str | None:
    """Why a text is no absolute URL with one of these schemes, without user and password."""
    if not _URL_TEXT.fullmatch(text):
        return "holds characters that a URL must percent-encode"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        return f"is not a URL: {error}"
    if parts.scheme not in schemes:
        return f"must begin with one of: {', '.join(f'{s}://' for s in schemes)}"
    if "@" in parts.netloc:
        return "must not hold a user or a password"
    bracketed = "[" in parts.netloc
    # Of what stands around brackets, others may make another host than ours.
    misread = bracketed and not _BRACKETED.fullmatch(parts.netloc)
    if misread or port == 0 or not _is_url_host(host, bracketed=bracketed):
        return "has no valid host and port"
    return None


_DECODINGS = 8
"""How often a path is decoded at most: a text that changes even then hides something."""

_SEPARATORS = re.compile(r"[/\\]")


def readings(path: str) -> Iterator[tuple[str, ...]]:
    """Yield the segments of a URL's path as one server or another reads them.

    Proxies and servers decode more than once, take ``%2F`` and a backslash for a slash, and drop
    empty segments and parameters behind a semicolon (RFC 3986 section 3.3). A path that is
    encoded more often than that comes last, as one that climbs.
    """
    for _ in range(_DECODINGS):
        segments = (part.partition(";")[0].strip() for part in _SEPARATORS.split(path))
        yield tuple(segment for segment in segments if segment)
        decoded = unquote(path)
        if decoded == path:
            return
        path = decoded
    yield ("..",)


def climbs(path: str) -> bool:
    """Whether some server could read a path of a URL as one with the segments ``.`` or ``..``."""
    return any(segment in (".", "..") for segments in readings(path) for segment in segments)


def _is_url_host(host: str, *, bracketed: bool) -> bool:
    if bracketed or _ends_in_number(host):
        return ip_of(host) is not None
    return len(host) <= MAX_HOST and _URL_HOST.fullmatch(host) is not None
