"""Reports inside one Markdown fence, as some models wrap their answer.

Unchanged, such a report would be a code block, and its placeholders would cite nothing. It is
taken out of the fence if the fence is the whole answer. A line of prose may surround the fence,
such as "Here is the report:", if every placeholder is inside.
"""

from __future__ import annotations

import re

from artificer.artifacts.placeholder import find

_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+)[ \t]*+([^`\n]*+)$")
_MARKDOWN = frozenset({"markdown", "md", "gfm", "commonmark"})
_ASIDE = 200
"""Longest prose before or after the fence, in characters."""


def unwrapped(text: str) -> str | None:
    """Return the report without the fence around it, or None if there is no such fence."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    first = next((number for number, line in enumerate(lines) if _FENCE.match(line)), None)
    if first is None:
        return None
    opening = _FENCE.match(lines[first])
    assert opening is not None
    fence, info = opening[1], opening[2].strip().lower()
    if info and info not in _MARKDOWN:
        return None
    last = _closing(lines, first, fence)
    before, after = _words(lines[:first]), _words(lines[last + 1 :])
    inside = "\n".join(lines[first + 1 : last]).strip("\n")
    if not inside.strip() or not _is_report(inside, before + after, labelled=bool(info)):
        return None
    return inside


def _closing(lines: list[str], first: int, fence: str) -> int:
    """Return the line that closes the fence, or the end of the text.

    A fence with a word after it opens a code block inside the report, which has its own closing
    line.
    """
    inner = ""
    for number in range(first + 1, len(lines)):
        match = _FENCE.match(lines[number])
        if match is None:
            continue
        ticks, info = match[1], match[2].strip()
        if inner:
            if not info and ticks[0] == inner[0] and len(ticks) >= len(inner):
                inner = ""
        elif info or ticks[0] != fence[0] or len(ticks) < len(fence):
            inner = ticks
        else:
            return number
    return len(lines)


def _is_report(inside: str, aside: str, *, labelled: bool) -> bool:
    """Return whether the fence holds the reply itself, and not an example inside the reply.

    ``labelled`` is whether the fence is labelled as Markdown.
    """
    if len(aside) > _ASIDE or find(aside):
        return False
    cites = bool(find(inside))
    return cites or (not aside and (labelled or inside.lstrip().startswith("# ")))


def _words(lines: list[str]) -> str:
    return "\n".join(lines).strip()
