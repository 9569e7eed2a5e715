"""Shortening text for people and models, never inside a character."""

from __future__ import annotations

import re

UNPRINTABLE = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]"
"""Characters that XML 1.0 (section 2.2) and HTML refuse, and the C1 controls."""


def fence_for(text: str, least: int = 3) -> str:
    """Return a run of backticks that is longer than any within a text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)


def unprintable(text: str) -> str | None:
    """Return the first character that no document may hold, or None."""
    found = re.search(UNPRINTABLE, text)
    return found[0] if found else None


def clip(text: str, limit: int) -> str:
    """Return at most ``limit`` code points of ``text``, ending in ``…`` when cut."""
    if len(text) <= limit:
        return text
    return text[: max(0, limit - 1)] + "…"


def split_lines(text: str) -> list[str]:
    """Return the lines of a text as git counts them: only a line feed ends one.

    ``str.splitlines`` also ends one at ten other characters, which the text of a line may hold.
    """
    return text.removesuffix("\n").split("\n") if text else []


def first_sentence(text: str) -> str:
    """Return the first sentence of the first line of a text, without its full stop."""
    return text.partition("\n")[0].partition(". ")[0].rstrip(".")


def well_formed(text: str) -> str:
    """Return the text with each lone surrogate, which UTF-8 cannot hold, replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_shortened(text: str) -> bool:
    """Whether a text, or one within it, came from :func:`head_and_tail`."""
    return re.search("… [0-9]+ characters left out …", text) is not None


def head_and_tail(text: str, limit: int) -> str:
    """Keep the beginning and the end of a long text, and say how much is missing between."""
    if len(text) <= limit:
        return text
    half = max(1, limit // 2)
    missing = len(text) - 2 * half
    return f"{text[:half]}\n… {missing} characters left out …\n{text[-half:]}"
