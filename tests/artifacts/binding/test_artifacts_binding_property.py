"""Every plotted or cited value equals an independent evaluation, whatever the model replies."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import binding_oracle as oracle
import pytest
from hypothesis import currently_in_test_context, event, given, settings
from hypothesis import strategies as st

from artificer.artifacts.binding.bind import BoundCall, bind, inner, tidy
from artificer.artifacts.binding.offer import checked_schema
from artificer.artifacts.binding.source_note import source_note
from artificer.artifacts.binding.sources import Sources
from artificer.backends.artifact import offered
from artificer.contracts.schema import compile_schema
from artificer.render.language import language

COLUMNS = ("name", "bytes", "share", "day", "ok", "__proto__", "größe")
TOOLS = {tool.name: tool for tool in offered.report_tools(binding=True)}

NAMES = st.sampled_from(["a", "b", "c", "ä", "Z", "10", "9", "007", "true", "constructor"])
NUMBERS = st.one_of(
    st.integers(-50, 50).map(str),
    st.decimals(-1000, 1000, allow_nan=False, places=3).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda f: json.dumps(f)),
    st.sampled_from(["1e3", "-0", "0.1", "1.10", "1e999999999", "9007199254740993", "1E-7"]),
    st.integers(1, 10**31 - 1).map(str),
    st.tuples(st.integers(1, 10**31 - 1), st.text("0123456789", min_size=1, max_size=30)).map(
        lambda parts: f"{parts[0]}.{parts[1]}"
    ),
)
CELLS: dict[str, st.SearchStrategy[str]] = {
    "name": NAMES.map(json.dumps),
    "bytes": NUMBERS,
    "share": st.one_of(NUMBERS.map(json.dumps), NUMBERS, st.just("null")),
    "day": st.dates().map(lambda d: json.dumps(d.isoformat())),
    "ok": st.sampled_from(["true", "false", "null", "1", '"1"']),
    "__proto__": st.one_of(NAMES.map(json.dumps), NUMBERS),
    "größe": st.integers(0, 9).map(str),
}


@st.composite
def sources(draw: st.DrawFn) -> str:
    """The JSON text of a result: rows of objects, with the numbers' own spelling."""
    rows = []
    for _ in range(draw(st.integers(0, 12))):
        present = draw(st.lists(st.sampled_from(COLUMNS), unique=True, min_size=4))
        members = (
            f"{json.dumps(c)}:{draw(CELLS[c])}"
            for c in {"name": 0, "bytes": 0} | dict.fromkeys(present)
        )
        rows.append("{" + ",".join(members) + "}")
    return '{"items":[' + ",".join(rows) + "]}"


COLUMN = st.sampled_from([*COLUMNS, "/größe"])
SCALAR = st.one_of(NAMES, st.integers(-9, 9), st.floats(-9, 9), st.booleans())
CONDITION = st.one_of(
    st.fixed_dictionaries(
        {
            "column": COLUMN,
            "op": st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "contains"]),
            "value": SCALAR,
        }
    ),
    st.fixed_dictionaries({"column": COLUMN, "op": st.sampled_from(["empty", "not empty"])}),
    st.fixed_dictionaries(
        {"column": COLUMN, "op": st.just("in"), "values": st.lists(SCALAR, min_size=1, max_size=4)}
    ),
)
_NUMERIC = ("bytes", "größe", "/größe", "bytes")
CALCULATE = st.sampled_from(["sum", "count", "mean", "min", "max"])
AGGREGATE = st.fixed_dictionaries(
    {
        "calculate": CALCULATE,
        "column": st.sampled_from(["bytes", "bytes", "größe", "share", "name"]),
    },
    optional={"name": st.sampled_from(["n", "Total"])},
)


@st.composite
def bindings(draw: st.DrawFn, *, numeric: bool = False) -> dict[str, Any]:
    """A binding as a model may write it, mostly without problems; of a chart, ``numeric``."""
    data: dict[str, Any] = {"call": "du#1", "rows": "/items"}
    if draw(st.booleans()):
        data["where"] = draw(st.lists(CONDITION, max_size=2))
    after = list(COLUMNS)
    if draw(st.booleans()):
        by = draw(st.sampled_from(COLUMNS))
        use = AGGREGATE.filter(lambda a: a["column"] in _NUMERIC) if numeric else AGGREGATE
        date = draw(st.sampled_from(["day", "week", "month", "quarter", "year"]))
        group = {"by": by, "values": draw(st.lists(use, min_size=1, max_size=2))}
        data["group"] = {**group, "date": date} if by == "day" else group
        after = [by]
        columns = [v["column"] for v in group["values"]]
        for v in group["values"]:
            own = (
                f"{v['calculate']} of {v['column']}"
                if columns.count(v["column"]) > 1
                else v["column"]
            )
            after.append(v.get("name") or own)
    pick = st.sampled_from(after)
    if draw(st.booleans()):
        data["sort"] = draw(
            st.lists(st.fixed_dictionaries({"by": pick, "descending": st.booleans()}), max_size=2)
        )
    if draw(st.booleans()):
        top = {"n": st.integers(1, 5)}
        optional = {"by": pick, "other": st.just("Other")}
        data["top"] = draw(st.fixed_dictionaries(top, optional=optional))
    if draw(st.booleans()):
        data["round"] = draw(st.integers(0, 6))
    data["label"] = after[0]
    if numeric:
        pick = st.sampled_from(after[1:] if "group" in data else _NUMERIC)
    data["values"] = [
        {"column": c} for c in draw(st.lists(pick, min_size=1, max_size=2, unique=True))
    ]
    return data


def bound(tool: str, data: dict[str, Any], source: str) -> dict[str, Any] | None:
    """The payload with its binding, as it is stored; None when the binding has problems."""
    payload: dict[str, Any] = {"id": "x", "data": data}
    member = {"create_table": "table", "create_list": "list", "create_checklist": "checklist"}.get(
        tool
    )
    arguments = {member: {"kind": member, **payload}} if member else payload
    definition = TOOLS[tool]
    arguments = tidy(definition, arguments)
    assert not compile_schema(checked_schema(definition)).problems(arguments)
    found = bind(definition, arguments, Sources(("du#1",), {"du#1": source.encode()}, frozenset()))
    if currently_in_test_context():
        event("bound" if isinstance(found, BoundCall) else "problems")
    return inner(tool, found.arguments) if isinstance(found, BoundCall) else None


def same(actual: Any, expected: Any) -> bool:
    """Whether a cell of a payload is what has to be shown."""
    if isinstance(expected, Fraction):
        if isinstance(actual, str):
            return Fraction(actual) == expected
        return oracle.shown(actual) in (expected, oracle.digits15(expected))
    if isinstance(expected, bool) or expected is None:
        return actual is expected
    return isinstance(actual, str) and actual == expected


CHARTS = ("create_bar_chart", "create_stacked_bar_chart", "create_combined_chart")


def drawn(tool: str, payload: dict[str, Any]) -> tuple[list[str], dict[str, list[Any]]]:
    """The labels and the series of a chart, whatever its members are called."""
    if tool == "create_heat_map_chart":
        values = zip(*(row["values"] for row in payload["rows"]), strict=True)
        labels = [row["label"] for row in payload["rows"]]
        return labels, dict(zip(payload["columns"], map(list, values), strict=True))
    series = payload["series"] if "series" in payload else payload["bars"] + payload["lines"]
    return payload["labels"], {one["name"]: one["values"] for one in series}


def is_shown(actual: Any, expected: Any, payload: dict[str, Any]) -> bool:
    """Whether a chart's number is the one that has to be drawn, cut only if the payload says so."""
    if actual is None or expected is None:
        return actual is expected
    shown, cut = oracle.shown(actual), payload["data"].get("digits") == 15
    return shown == expected or (cut and shown == oracle.digits15(expected))


@pytest.mark.req("binding-independent")
@settings(max_examples=200)
@given(st.sampled_from([*CHARTS, "create_heat_map_chart"]), sources(), bindings(numeric=True))
def test_a_chart_shows_what_its_binding_says(tool: str, source: str, data: dict[str, Any]) -> None:
    payload = bound(tool, data, source)
    if payload is None:
        return
    rows = oracle.evaluate(source.encode(), payload["data"], data["label"])
    labels, series = drawn(tool, payload)
    assert len(labels) == len(rows)
    for label, row in zip(labels, rows, strict=True):
        expected = oracle.cell(row, data["label"])
        number = oracle.number(expected)
        assert label == oracle.text(expected) or oracle.fraction(label) == number
    for pick in data["values"]:
        values = series[pick["column"].removeprefix("/")]
        for actual, row in zip(values, rows, strict=True):
            expected = oracle.value_of(row, pick["column"], data.get("round"))
            assert is_shown(actual, None if expected == "" else expected, payload)


@pytest.mark.req("binding-across")
@settings(max_examples=200)
@given(sources(), bindings(numeric=True), COLUMN, st.booleans())
def test_a_grid_has_each_row_in_its_cell(
    source: str, data: dict[str, Any], across: str, grouped: bool
) -> None:
    data = {**data, "across": across, "values": data["values"][:1]}
    if not grouped:
        data.pop("group", None)
        data["values"] = [{"column": "bytes"}]
    payload = bound("create_heat_map_chart", data, source)
    if payload is None:
        return
    assert payload["data"]["version"] == 2
    rows = oracle.evaluate(source.encode(), payload["data"], data["label"])
    names = [oracle.text(oracle.cell(row, data["label"])) for row in rows]
    columns = [oracle.text(oracle.cell(row, across)) for row in rows]
    assert [row["label"] for row in payload["rows"]] == list(dict.fromkeys(names))
    assert payload["columns"] == list(dict.fromkeys(columns))
    found = {
        (row["label"], column): value
        for row in payload["rows"]
        for column, value in zip(payload["columns"], row["values"], strict=True)
    }
    for row, place in zip(rows, zip(names, columns, strict=True), strict=True):
        expected = oracle.value_of(row, data["values"][0]["column"], data.get("round"))
        assert is_shown(found.pop(place), None if expected == "" else expected, payload)
    assert set(found.values()) <= {None}, "a cell without a row is empty"


@pytest.mark.req("binding-across")
def test_long_rows_become_a_grid_and_two_for_one_cell_are_refused() -> None:
    rows = [
        {"day": "Monday", "hour": 9, "n": 3},
        {"day": "Monday", "hour": 8, "n": 5},
        {"day": "Tuesday", "hour": 8, "n": 1},
    ]
    data = {"call": "du#1", "rows": "/items", "label": "day", "across": "hour", "values": ["n"]}
    payload = bound("create_heat_map_chart", data, json.dumps({"items": rows}))
    assert payload and payload["columns"] == ["9", "8"]
    assert [row["values"] for row in payload["rows"]] == [[3, 5], [None, 1]]
    twice = json.dumps({"items": [*rows, {"day": "Monday", "hour": 9, "n": 4}]})
    assert bound("create_heat_map_chart", data, twice) is None
    sums = {"by": "day", "values": [{"calculate": "sum", "column": "n"}]}
    payload = bound("create_heat_map_chart", {**data, "group": sums}, twice)
    assert payload and payload["rows"][0]["values"] == [7, 5]
    assert bound("create_heat_map_chart", {**data, "across": "day"}, twice) is None
    assert bound("create_heat_map_chart", {**data, "across": "month"}, twice) is None
    source = source_note(payload, language("en").words)
    assert "grouped by day and hour: sum of n" in source and "n by day and hour" in source


@pytest.mark.req("binding-across")
def test_no_other_chart_takes_a_grid() -> None:
    for tool, definition in TOOLS.items():
        has = '"across":' in json.dumps(definition.input_schema)
        assert has is (tool == "create_heat_map_chart"), tool


@pytest.mark.req("binding-independent")
@settings(max_examples=100)
@given(sources(), bindings(numeric=True))
def test_the_spread_of_values_is_that_of_the_rows(source: str, data: dict[str, Any]) -> None:
    data = {**data, "values": data["values"][:1]}
    for tool in ("create_histogram_chart", "create_box_plot_chart"):
        payload = bound(tool, data, source)
        if payload is None:
            continue
        rows = oracle.evaluate(source.encode(), payload["data"], data["label"])
        column = data["values"][0]["column"]
        expected = [oracle.value_of(row, column, data.get("round")) for row in rows]
        if tool == "create_box_plot_chart":
            names = [oracle.text(oracle.cell(row, data["label"])) for row in rows]
            first = [names.index(name) for name in names]
            expected = [e for _, e in sorted(zip(first, expected, strict=True), key=lambda p: p[0])]
            values = [value for group in payload["groups"] for value in group["values"]]
            assert [g["label"] for g in payload["groups"]] == list(dict.fromkeys(names))
        else:
            values = payload["values"]
        assert len(values) == len(expected)
        assert all(is_shown(a, e, payload) for a, e in zip(values, expected, strict=True))


@pytest.mark.req("binding-independent")
@settings(max_examples=150)
@given(sources(), bindings())
def test_a_table_shows_what_its_binding_says(source: str, data: dict[str, Any]) -> None:
    payload = bound("create_table", data, source)
    if payload is None:
        return
    label = data["label"]
    columns = [pick["column"] for pick in data["values"]]
    columns = columns if label in columns else [label, *columns]
    rows = oracle.evaluate(source.encode(), payload["data"], label)
    assert payload["columns"] == [column.removeprefix("/") for column in columns]
    assert len(payload["rows"]) == len(rows)
    for cells, row in zip(payload["rows"], rows, strict=True):
        for actual, column in zip(cells, columns, strict=True):
            assert same(actual, oracle.value_of(row, column, data.get("round"))), (actual, row)


@pytest.mark.req("binding-independent")
@settings(max_examples=100)
@given(sources(), st.lists(CONDITION, max_size=2), CALCULATE, COLUMN, st.integers(0, 6) | st.none())
def test_a_cited_value_is_what_its_binding_says(
    source: str, where: list[Any], calculate: str, column: str, digits: int | None
) -> None:
    data: dict[str, Any] = {
        "call": "du#1",
        "rows": "/items",
        "where": where,
        "calculate": calculate,
        "column": column,
    }
    if digits is not None:
        data["round"] = digits
    definition = TOOLS["create_value"]
    arguments = {"id": "x", "data": data}
    known = Sources(("du#1",), {"du#1": source.encode()}, frozenset())
    found = bind(definition, arguments, known)
    if not isinstance(found, BoundCall):
        return
    rows = [
        r
        for r in oracle.table(oracle.load(source.encode()), data)
        if all(oracle.keeps(r, c) for c in where)
    ]
    expected = oracle.aggregate(calculate, [oracle.cell(r, column) for r in rows], rows=False)
    if digits is not None:
        expected = oracle.half_even(expected, Fraction(1, 10**digits))
    assert Fraction(found.arguments["value"]) == expected
    assert Fraction(found.arguments["shown"]) == expected
