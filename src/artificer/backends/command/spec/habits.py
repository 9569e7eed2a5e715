"""Habits of shells in a command, which no shell reads here: pipes, globs, variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from artificer.backends.command.spec.argv import Group, Item, items_of
from artificer.backends.command.spec.read import literal

_OPERATORS = frozenset({"|", "||", "&&", "&", "|&"})
_REDIRECTION = re.compile(r"\d?(?:>>?|<)(?:&\d)?\S*")
_VARIABLE = re.compile(r"\$\{?[A-Z_][A-Z0-9_]{2,}")
_GLOB = re.compile(r"[^\s=:'\"(]*[*?][^\s=:'\"(]*\.\w+|\*|\*\.\w+")


def shell_habits(groups: Iterable[Group]) -> Iterator[str]:
    """Yield a warning for each item that only a shell would understand."""
    before = ""
    for item in items_of(groups):
        text = literal(item) if isinstance(item, Item) else ""
        if text in _OPERATORS:
            yield f"{text!r} is an argument like any other: no shell joins programs; use 'executor'"
        elif _REDIRECTION.fullmatch(text):
            yield f"{text!r} redirects nothing: use 'stdin', {{_output_file}} or 'executor'"
        elif _VARIABLE.match(text):
            yield f"{text!r} is not replaced by the variable: use 'env' or 'env_pass'"
        elif text == "~" or text.startswith("~/"):
            yield f"{text!r} is not your home folder: write the whole path"
        elif _GLOB.fullmatch(text) and not before.startswith("-"):
            yield f"{text!r} is not expanded: use an argument of the type 'path' with list = true"
        before = text
