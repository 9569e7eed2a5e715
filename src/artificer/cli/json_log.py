"""The log of a worker or a studio: one JSON object per line, on stderr."""

from __future__ import annotations

import json
import logging
import sys

from artificer.system.utc import utc_timestamp

FACTS = (
    *("run", "cause", "ended", "seconds", "executing", "slots", "dispatcher", "health"),
    *("address",),
)
"""Members of a record that a line shows. None of them holds text of a model or a tool."""


EFFECT = "artificer"
"""The member of a record that holds the facts of an effect: sizes and digests, never contents."""


class JsonLines(logging.Formatter):
    """Formats a record as a JSON object of one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line: the time, the level, the logger, the message and the facts."""
        at = utc_timestamp(int(record.created * 1000), "milliseconds")
        line: dict[str, object] = {"at": at, "level": record.levelname.lower()}
        line |= {"logger": record.name, "message": record.getMessage()}
        line |= {name: vars(record)[name] for name in FACTS if name in vars(record)}
        if isinstance(effect := vars(record).get(EFFECT), dict) and isinstance(record.args, tuple):
            line = {**effect, **line, "message": str(record.args[0])}  # its facts are members
            line = {name: line[name] for name in sorted(line, key=_place)}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def _place(name: str) -> int:
    """The members of every line come first, in their order."""
    first = ("at", "level", "logger", "message", "run")
    return first.index(name) if name in first else len(first)


def start_log(*libraries: str) -> None:
    """Write the records of Artificer to stderr from now on, and the warnings of libraries."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    levels = {"artificer": logging.INFO, **dict.fromkeys(libraries, logging.WARNING)}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level)
