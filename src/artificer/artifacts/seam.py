"""The seam of a text that the output limit cut: asking for the rest, and joining both parts."""

from __future__ import annotations

import re

_TAIL = 200
"""Characters of the end that the model is shown."""

_SHORTEST = 16
"""Characters of an unfinished sentence that the rest must repeat to be taken for a repetition."""

_SENTENCE_END = re.compile(r"[.!?:;]\s+|\n+|[\u3002\uff01\uff1f]")


def rest_request(text: str) -> str:
    """Ask for the rest of a text."""
    return (
        "Your reply was cut off at its output limit. Continue it exactly where it ends: begin with"
        " the very next character. Repeat nothing, add no introduction, and call no tool. What you"
        " write is put directly behind what is there. It ends with:\n\n" + text[-_TAIL:]
    )


def joined(text: str, rest: str) -> str:
    """Both parts as one text. A model that begins its unfinished sentence again repeats nothing.

    Other repetitions stay: nobody can tell them from a text that repeats itself.
    """
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    unfinished = text[ends[-1] :] if ends else text
    again = len(unfinished) >= _SHORTEST and rest.startswith(unfinished)
    return text + (rest[len(unfinished) :] if again else rest)
