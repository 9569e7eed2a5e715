"""Listening on a port, before the user learns the address."""

from __future__ import annotations

import socket

from artificer.errors import OperatorError


def listen(what: str, host: str, port: int, hint: str = "Choose another port.") -> socket.socket:
    """Return a socket that listens for ``what``, as an error calls it. Raises OperatorError.

    What is sent leaves at once: asyncio sees to that only where it makes the socket itself, and
    otherwise the body of an answer waits 40 ms until its head was acknowledged.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise OperatorError(
            f"{what} cannot listen on {host}, port {port}: {error.strerror}.",
            hint=hint,
        ) from error
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted ones inherit it
    return listening
