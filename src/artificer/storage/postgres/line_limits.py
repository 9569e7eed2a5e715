"""How soon both ends of a connection notice that the line between them is cut.

A line that is cut says nothing. Without limits a program waits for an answer for hours, and the
server keeps the locks of a client that is gone.
"""

from __future__ import annotations

from typing import Any

from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

_USUAL = {
    "connect_timeout": 10,  # for each host of the URL
    "keepalives_idle": 10,  # after so many seconds of silence …
    "keepalives_interval": 5,  # … the other end is asked, every 5 seconds …
    "keepalives_count": 3,  # … and counts as gone after 3 questions
    "tcp_user_timeout": 20_000,  # or after so many milliseconds in which it confirmed nothing
}

_SERVERS = {
    "keepalives_idle": "tcp_keepalives_idle",
    "keepalives_interval": "tcp_keepalives_interval",
    "keepalives_count": "tcp_keepalives_count",
    "tcp_user_timeout": "tcp_user_timeout",
}
"""The names of these at the server, for its own end."""


def limits(conninfo: str, answer_seconds: int | None = None) -> dict[str, Any]:
    """Return the limits of a new connection that neither its URL nor the environment names.

    With ``answer_seconds``, each answer has to come within so many, whatever these name.
    """
    if answer_seconds is not None:
        return {
            "connect_timeout": answer_seconds,
            "keepalives_idle": max(1, answer_seconds - 3),
            "keepalives_interval": 1,
            "keepalives_count": 3,
            "tcp_user_timeout": answer_seconds * 1000,
        }
    set_elsewhere = {
        option.keyword.decode() for option in Conninfo.get_defaults() if option.val is not None
    }
    named = conninfo_to_dict(conninfo).keys() | set_elsewhere
    return {name: value for name, value in _USUAL.items() if name not in named}


def limits_of_server(parameters: dict[str, str]) -> dict[str, str]:
    """Return settings by which the server notices a cut line as soon as a connection's end does.

    It then ends what it was doing for it. ``parameters`` are those that the connection has got.
    """
    if parameters.get("keepalives") == "0":
        return {}
    found = {theirs: parameters.get(ours) for ours, theirs in _SERVERS.items()}
    return {name: value for name, value in found.items() if value}
