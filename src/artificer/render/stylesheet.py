"""Style sheets: type, space and colour of ``tokens.css``, and the rules of a kind of page."""

from __future__ import annotations

from functools import cache

from artificer import render
from artificer.system.files import packaged


@cache
def stylesheet(name: str) -> str:
    """Return a style sheet of this package, after what all pages share."""
    return f"{tokens()}\n{packaged(render, name)}"


@cache
def tokens() -> str:
    """Return what all pages share: type, space and colour."""
    return packaged(render, "tokens.css")
