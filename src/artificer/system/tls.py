"""The certificates that servers are checked against, read once for all connections of a process.

Reading those of the system takes 25 ms of the processor, more than all else that a new client does.
"""

from __future__ import annotations

import os
import ssl
from functools import lru_cache

from artificer.plugins import load


def shared_context() -> ssl.SSLContext:
    """Return the TLS context of connections to servers, as HTTPX makes it.

    It is another one once the environment names other certificates.
    """
    return _context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=1)
def _context(file: str | None, folder: str | None) -> ssl.SSLContext:
    made: ssl.SSLContext = load("httpcore2:default_ssl_context")()  # it reads the same variables
    return made
