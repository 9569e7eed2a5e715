"""Two runs side by side: where they first differ, and in what."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from artificer.core.events import RunForked
from artificer.core.record import EventLine
from artificer.errors import NotFoundError
from artificer.runs import History
from artificer.runtime.proving.compare import Comparison, Difference
from artificer.studio.context import context_of, history_of
from artificer.studio.differences import DiffLine, line_diff
from artificer.studio.pages import page
from artificer.studio.words import dollars
from artificer.values.text import clip

MAX_DIFFERENCES = 300
MAX_TEXT = 20_000
"""Differences, and characters of each, that are shown."""

SHORT = 60
"""Characters of a value that is shown in one line."""


class ComparedPair(NamedTuple):
    """One difference: both values, and their lines where these are long."""

    what: str
    a: str
    b: str
    lines: tuple[DiffLine, ...]


class ComparedGroup(NamedTuple):
    """Differences that belong together."""

    title: str
    pairs: tuple[ComparedPair, ...]


async def choose(request: Request) -> Response:
    """Offer runs to compare a run with: the one it was forked from, and the newest."""
    archive = context_of(request).world.archive
    history = await history_of(request)
    newest = (await archive.summaries(20, builds=False))[::-1]
    others = [run for run in newest if run.run != history.run.id]
    values = {"run": history.run, "origin": _origin(history), "others": others}
    return page(request, "choose", values)


async def show(request: Request) -> Response:
    """Compare two runs."""
    runs = [run for run in request.query_params.getlist("run") if run][:2]
    if len(runs) != 2:
        raise NotFoundError("Name two runs to compare.")
    archive = context_of(request).world.archive
    one, other = [await archive.get(await archive.find(run)) for run in runs]
    found = await archive.diff(one.id, other.id)
    groups = [group for group in _groups(found) if group.pairs]
    count = sum(len(group.pairs) for group in groups)
    values = {"one": one, "other": other, "found": found, "groups": groups}
    return page(request, "compare", {**values, "cut": count >= MAX_DIFFERENCES})


def _origin(history: History) -> str:
    forked = [
        line.event.origin.run
        for line in history.lines
        if isinstance(line, EventLine) and isinstance(line.event, RunForked)
    ]
    return forked[-1] if forked else ""


def _groups(found: Comparison) -> Iterator[ComparedGroup]:
    left = MAX_DIFFERENCES
    parts: list[tuple[str, Iterable[Difference]]] = [("Prompt", found.prompt)]
    parts += [(f"Turn {turn.turn}", turn.differences) for turn in found.turns]
    parts += [("Report", found.deliverable), ("Totals", found.totals), ("Settings", found.settings)]
    for title, differences in parts:
        pairs = tuple(_pair(one) for one in list(differences)[:left])
        left -= len(pairs)
        yield ComparedGroup(title, pairs)


def _pair(one: Difference) -> ComparedPair:
    name, written = _WRITTEN.get(one.what, (one.what, _text))
    a, b = ("" if value is None else written(value) for value in (one.a, one.b))
    if max(len(a), len(b)) <= SHORT:
        return ComparedPair(name, a, b, ())
    return ComparedPair(one.what, clip(a, MAX_TEXT), clip(b, MAX_TEXT), line_diff(a, b))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


_WRITTEN: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "cost_micros": ("cost", dollars),
    "duration_ms": ("duration", "{} ms".format),
}
"""The names of numbers with a unit, and how they are written."""
