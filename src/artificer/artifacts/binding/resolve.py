"""Resolving a binding: from the data of cited calls to the numbers and rows of a payload.

Pure and total: it returns the payload's members, or every problem that it can find at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from artificer.artifacts.binding.fill import FILLS, Fill, ShownRows
from artificer.artifacts.binding.form import ACROSS, VERSION, Aggregate, Data, default_name
from artificer.artifacts.binding.frame import BindingError, Frame, listed
from artificer.artifacts.binding.operations import accepts, grouped, ordered, topped
from artificer.artifacts.binding.resolved import BindingProblems, ResolvedBinding
from artificer.artifacts.binding.rows import Rows, rows_at
from artificer.artifacts.binding.sources import Sources
from artificer.values.base import JsonObject, Problem
from artificer.values.text import clip

_PAIRS = ("label", "value")
"""The columns of an object of single values."""


def resolve(tool: str, data: Data, sources: Sources, at: str) -> ResolvedBinding | BindingProblems:
    """Return the members that the binding fills in, and what is recorded of it.

    ``at`` is the pointer of the binding in the arguments. Otherwise return its problems.
    """
    source = sources.read(data.call, f"{at}/call")
    if isinstance(source, Problem):
        return BindingProblems((source,))
    rows = rows_at(source.value, data.rows, data.columns, at)
    if not isinstance(rows, Rows):
        return BindingProblems(rows)
    plan = _Plan(FILLS[tool], data, rows, at)
    if problems := tuple(plan.problems()):
        return BindingProblems(problems)
    try:
        shown = plan.shown()
        members = FILLS[tool].make(shown)
    except BindingError as refused:
        return BindingProblems(refused.problems)
    recorded: JsonObject = {
        "version": ACROSS if data.across else VERSION,
        "digest": source.digest,
    }
    if shown.cut:
        recorded["digits"] = 15
    return ResolvedBinding(members, recorded)


def names_of(aggregates: tuple[Aggregate, ...]) -> tuple[str, ...]:
    """Return the names of a group's numbers: their own, the column's, or one made of both."""
    columns = [aggregate.column for aggregate in aggregates]
    return tuple(
        a.name
        or (f"{a.calculate} of {a.column}" if columns.count(a.column) > 1 else a.column)
        or a.calculate
        for a in aggregates
    )


class _Plan:
    """One binding with its rows, before and while it is worked out."""

    def __init__(self, fill: Fill, data: Data, rows: Rows, at: str) -> None:
        self._fill, self._data, self._source, self._at = fill, data, rows, at
        self._names = names_of(data.group.values) if data.group else ()
        second = (data.across,) if data.across else ()
        self._after = (data.group.by, *second, *self._names) if data.group else rows.columns
        self._label = data.label or self._default_label()
        self._columns = tuple((p.column, p.name or default_name(p.column)) for p in data.values)
        if not self._columns:
            self._columns = self._default_columns()
        elif fill.least == 0 and not fill.labelled and self._label:  # a table shows its labels
            shown = [column for column, _ in self._columns]
            first = () if self._label in shown else ((self._label, default_name(self._label)),)
            self._columns = (*first, *self._columns)

    def _default_label(self) -> str:
        """The column of names where it is plain which one that is."""
        data = self._data
        if not self._fill.labelled:
            return ""
        if data.group:
            return data.group.by
        return "label" if self._source.columns == _PAIRS else ""

    def _default_columns(self) -> tuple[tuple[str, str], ...]:
        """The columns of values where it is plain which ones those are."""
        source = self._source.columns
        if self._fill.members == ("items",):
            return ()
        if self._fill.least == 0:
            return tuple((c, c) for c in self._after)
        plain = self._data.group or source in (_PAIRS, ("value",))
        second = "label" if source == _PAIRS and not self._data.group else ""
        names = (self._label, self._data.across, second)
        return tuple((c, c) for c in self._after if c not in names) if plain else ()

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong with the names, all at once."""
        yield from self._unknown_before()
        yield from self._unknown_after()
        yield from self._roles()
        yield from self._conflicts()

    def _unknown_before(self) -> Iterator[Problem]:
        data, at = self._data, self._at
        used = [(c.column, f"{at}/where/{n}/column") for n, c in enumerate(data.where)]
        if data.group:
            used.append((data.group.by, f"{at}/group/by"))
            if data.across:
                used.append((data.across, f"{at}/across"))
            for n, aggregate in enumerate(data.group.values):
                where = f"{at}/group/values/{n}/column"
                if aggregate.column:
                    used.append((aggregate.column, where))
                elif aggregate.calculate != "count":
                    message = f"is missing: which column to take the {aggregate.calculate} of"
                    yield Problem(pointer=where, message=message)
        for n, condition in enumerate(data.where):
            needs = condition.op not in ("in", "empty", "not empty")
            if (condition.op == "in" and not condition.values) or (
                needs and condition.value is None
            ):
                member = "values" if condition.op == "in" else "value"
                message = f"is missing: what {condition.op} compares with"
                yield Problem(pointer=f"{at}/where/{n}/{member}", message=message)
        for column, where in used:
            if not self._source.has(column):
                yield _unknown(column, where, self._source.columns)

    def _unknown_after(self) -> Iterator[Problem]:
        data, at = self._data, self._at
        used = [(key.by, f"{at}/sort/{n}/by") for n, key in enumerate(data.sort)]
        if data.top and data.top.by:
            used.append((data.top.by, f"{at}/top/by"))
        if data.label:
            used.append((data.label, f"{at}/label"))
        if data.across:
            used.append((data.across, f"{at}/across"))
        used += [(pick.column, f"{at}/values/{n}/column") for n, pick in enumerate(data.values)]
        for column, where in used:
            known = column in self._after if data.group else self._source.has(column)
            if not known:
                yield _unknown(column, where, self._after, grouped=data.group is not None)

    def _roles(self) -> Iterator[Problem]:
        fill, at = self._fill, self._at
        if fill.labelled and not self._label:
            message = f"is missing: the column with the names. Columns: {listed(self._after)}"
            yield Problem(pointer=f"{at}/label", message=message)
        limit = 1 if self._data.across else fill.limit
        if not fill.least <= len(self._columns) <= limit:
            need = str(fill.least) if fill.least == limit else f"{fill.least} to {limit}"
            message = f"must name {need} of the columns {listed(self._after)}"
            yield Problem(pointer=f"{at}/values", message=message, actual=len(self._columns))

    def _conflicts(self) -> Iterator[Problem]:
        data, at = self._data, self._at
        if data.across and data.across == self._label:
            yield Problem(pointer=f"{at}/across", message="is the column of the label already")
        if data.across and data.top and data.top.other:
            message = "does not go with across: a row of a grid has several cells"
            yield Problem(pointer=f"{at}/top/other", message=message)
        if len(set(self._after)) < len(self._after) and data.group:
            message = "gives two columns one name: name each differently"
            yield Problem(pointer=f"{at}/group/values", message=message)
        names = [name.casefold() for _, name in self._columns]
        if len(set(names)) < len(names):
            message = "shows two columns under one name: name each differently"
            yield Problem(pointer=f"{at}/values", message=message)
        if data.top and data.top.other:
            if not self._label:
                message = "needs a label: the column with the names of the rows"
                yield Problem(pointer=f"{at}/top/other", message=message)
            group = data.group.values if data.group else ()
            if any(aggregate.calculate not in ("sum", "count") for aggregate in group):
                message = "adds the other rows up, which a mean, min or max cannot be"
                yield Problem(pointer=f"{at}/top/other", message=message)

    def shown(self) -> ShownRows:
        """Work the binding out."""
        data, at = self._data, self._at
        frame = self._filtered()
        if data.group:
            frame = grouped(frame, data.group, self._names, at, data.across)
        frame = ordered(frame, data.sort)
        if data.top:
            frame = topped(frame, data.top, self._label, self._numeric(), at)
        limit = self._fill.rows * (self._fill.limit if data.across else 1)
        if len(frame.rows) > limit:
            raise BindingError(
                Problem(
                    pointer=at,
                    message="gives more rows than this can show: use top, where or group",
                    limit=limit,
                    actual=len(frame.rows),
                )
            )
        if not frame.rows and self._fill.least + self._fill.labelled:
            known = len(self._source.items)
            message = f"gives no rows: none of the {known} is left"
            raise BindingError(Problem(pointer=at, message=message))
        return ShownRows(frame, self._label, self._columns, at, data.round, across=data.across)

    def _numeric(self) -> list[str]:
        """The columns that a chart shows as numbers."""
        is_text = self._fill.least == 0
        return [] if is_text else [column for column, _ in self._columns]

    def _filtered(self) -> Frame:
        """Return the rows that all conditions keep, with the columns that are used after them."""
        data, source = self._data, self._source
        kept = list(range(len(source.items)))
        for condition in data.where:
            cells = source.column(condition.column, kept)
            kept = [n for n, cell in zip(kept, cells, strict=True) if accepts(condition, cell)]
        second = [data.across] if data.across else []
        if data.group:
            of = (data.group.by, *second, *(a.column for a in data.group.values if a.column))
        else:
            of = (
                *([self._label] if self._label else ()),
                *second,
                *(column for column, _ in self._columns),
                *(key.by for key in data.sort),
                *([data.top.by] if data.top and data.top.by else ()),
            )
        columns = tuple(dict.fromkeys(of))
        rows = zip(*(source.column(column, kept) for column in columns), strict=True)
        return Frame(columns, [list(row) for row in rows] if columns else [[] for _ in kept])


def _unknown(column: str, where: str, known: tuple[str, ...], *, grouped: bool = False) -> Problem:
    after = " after the group" if grouped else ""
    message = f"is not a column{after}. Columns{after}: {listed(known)}"
    return Problem(pointer=where, message=message, actual=clip(column, 80))
