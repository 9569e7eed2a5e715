"""The gist of a validator's report: the first failing assertion and the last lines."""

from __future__ import annotations

import re

from artificer.values.text import clip

LAST = 5
"""Lines of the end that are kept."""

MAX_LINE = 200

_RULE = re.compile(r"^[\s=\-_*~#.]*$")
_FAULT = re.compile(
    r"^E\s{2,}\S|\w*(?:Error|Exception|Failure)\b:|^\s*(?:FAIL(?:ED)?|ERROR)\b[: ]|^not ok\b"
    r"|^\s*--- FAIL|\bpanicked at\b|\bassert(?:ion)?\b.*fail|\berror(?:\[\w+\])?:|^\s*✖|^\s*●"
    r"|\bexpected\b.*\b(?:got|received|but)\b|\*\*\* \[",
    re.IGNORECASE,
)
_HEAD = re.compile(r"^(?:\$ |exit code \d+$|--- (?:output|errors)$)")


def gist(report: str) -> str:
    """Return the most important lines of a report."""
    lines = [clip(line.rstrip(), MAX_LINE) for line in report.splitlines() if line.strip()]
    output = [line for line in lines if not _RULE.match(line) and not _HEAD.match(line)]
    first = next((line for line in output if _is_cause(line)), None)
    first = first or next((line for line in output if _FAULT.search(line)), None)
    last = output[-LAST:]
    if first is not None and first not in last:
        return "\n".join([first, *last])
    return "\n".join(last or lines[:1])


def _is_cause(line: str) -> bool:
    """Return whether a line names the cause, and not only the place."""
    return bool(re.search(r"^E\s{2,}\S|^\w*(?:Error|Exception)\b:|panicked at|^\s+error:", line))
