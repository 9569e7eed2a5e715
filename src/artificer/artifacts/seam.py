"""Joining a text that the output limit cut: the request for the rest, and the join."""

from __future__ import annotations

import re

_TAIL = 200
"""Characters of the end that are shown to the model."""

_SHORTEST = 16
"""Characters of an unfinished sentence that must match for the rest to count as a repetition."""

_SENTENCE_END = r"[.!?:;]\s+|\n+|[\u3002\uff01\uff1f]"


def continuation_request(text: str) -> str:
    """Return a request for the rest of a text."""
    return (
        "Your reply was cut off at its output limit. Continue it exactly where it ends: begin with"
        " the very next character. Repeat nothing, add no introduction, and call no tool. What you"
        " write is put directly behind what is there. It ends with:\n\n" + text[-_TAIL:]
    )


def joined(text: str, continuation: str) -> str:
    """Return both parts as one text, without a repeated beginning of an unfinished sentence.

    Other repetitions stay, because a text may repeat itself on purpose.
    """
    ends = [match.end() for match in re.finditer(_SENTENCE_END, text)]
    unfinished = text[ends[-1] :] if ends else text
    again = len(unfinished) >= _SHORTEST and continuation.startswith(unfinished)
    return text + (continuation[len(unfinished) :] if again else continuation)
