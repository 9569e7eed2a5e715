"""The runs that somebody wants to see, as people say it."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

from artificer.ports import RunQuery
from artificer.values.words import terms_of


class RunFilter(TypedDict, total=False):
    """The runs that a list wants; without anything, all.

    ``text`` are words of the prompt, as in a search; ``model`` and ``agent`` parts of the names.
    ``waiting`` are those that wait for a person. They have begun at ``since`` or later, and before
    ``until``: milliseconds since 1970-01-01 UTC. Without ``builds``, no run that another one
    started whose name begins its own.
    """

    text: str
    status: str | None
    kind: str | None
    model: str
    agent: str
    parent: str
    waiting: bool
    since: int
    until: int | None
    builds: bool
    oldest_first: bool


def run_query(**wanted: Unpack[RunFilter]) -> RunQuery:
    """Return the query for the runs that somebody wants."""
    members: dict[str, Any] = {name: _clean(value) for name, value in wanted.items()}
    return RunQuery(terms_of(members.pop("text", "")), **members)


def _clean(value: object) -> object:
    """Return a text that every storage can compare: without halves of characters."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value
