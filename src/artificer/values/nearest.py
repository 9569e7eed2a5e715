"""The known name that may have been meant by an unknown one."""

from __future__ import annotations

from collections.abc import Sequence


def nearest(name: str, known: Sequence[str]) -> str:
    """Return a hint: the known name that is meant, or all of them in their order.

    A name that is one of the words is meant: ``turns`` by ``max_turns``.
    """
    from difflib import get_close_matches  # only for a mistake

    words = name.split("_")
    close = [one for one in known if one in words] or get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known)}."
