"""Time-based one-time passwords (RFC 6238), as authenticator apps make them: SHA-1, six digits."""

from __future__ import annotations

import base64
import binascii
import hmac
import struct

STEP_SECONDS = 30


def totp(seed: str, now: float) -> str:
    """The code of a moment, in seconds since 1970. ``seed`` is base32, with or without spaces.

    Raises ValueError when it is not.
    """
    plain = seed.replace(" ", "").replace("-", "").rstrip("=").upper()
    try:
        key = base64.b32decode(plain + "=" * (-len(plain) % 8))
    except binascii.Error as error:
        raise ValueError("The seed is not base32.") from error
    counter = struct.pack(">Q", int(now // STEP_SECONDS))
    mac = hmac.digest(key, counter, "sha1")
    offset = mac[-1] & 0x0F  # RFC 4226 section 5.3
    number = int.from_bytes(mac[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 1_000_000:06d}"
