"""Hostile data and bindings: refused or worked out, in bounds, and never an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.artifacts import catalog
from artificer.artifacts.binding.bind import BoundCall, bind, gives_data, inner, tidy
from artificer.artifacts.binding.dates import bucket_of
from artificer.artifacts.binding.numbers import decimal_of
from artificer.artifacts.binding.offer import checked_schema
from artificer.artifacts.binding.source_note import source_note, word
from artificer.artifacts.binding.sources import Sources
from artificer.backends.artifact import offered
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.schema import compile_schema
from artificer.render.language import language
from artificer.values.canon import canonical
from artificer.values.tokens import USUAL_BYTES_A_TOKEN

pytestmark = pytest.mark.req("binding-hostile")

TOOLS = {tool.name: tool for tool in offered.report_tools(binding=True)}
BAR = {"call": "t#1", "rows": "/r", "label": "n", "values": ["v"]}


def worked_out(data: Any, source: str, tool: str = "create_bar_chart") -> Any:
    """The outcome of a binding at the gate: the payload, or the words of the problems."""
    within = {"create_table": "table", "create_list": "list"}.get(tool)
    payload: dict[str, Any] = {"id": "x", "data": data}
    arguments = {within: {"kind": within, **payload}} if within else payload
    definition = TOOLS[tool]
    arguments = tidy(definition, arguments)
    problems = compile_schema(checked_schema(definition)).problems(arguments)
    if problems or not gives_data(definition, arguments):
        return " ".join(f"{p.pointer} {p.message}" for p in problems)
    known = Sources(("t#1",), {"t#1": source.encode("utf-8", "surrogatepass")}, frozenset())
    found = bind(definition, arguments, known)
    if isinstance(found, BoundCall):
        return inner(tool, found.arguments)
    return " ".join(f"{p.pointer} {p.message}" for p in found)


def rows(*cells: str) -> str:
    return '{"r":[' + ",".join(f'{{"n":"a{n}","v":{c}}}' for n, c in enumerate(cells)) + "]}"


@pytest.mark.parametrize(
    "cell",
    [
        "1e999999999",
        "-1e999999999",
        "1" * 5000,
        "1e-999999999",
        '"NaN"',
        '"Infinity"',
        '"1_000"',
        '"٣"',
        '"0x10"',
        '" 5"',
        '"1,000"',
        "1e400000",
        "90071992547409930",
        "1e-399",
    ],
)
def test_no_number_that_a_chart_cannot_hold_is_drawn(cell: str) -> None:
    said = worked_out(BAR, rows(cell))
    assert isinstance(said, str) and "/data/values/0/column" in said


def test_a_table_keeps_every_digit_of_it_as_text() -> None:
    made = worked_out(
        {"call": "t#1", "rows": "/r"}, rows("9007199254740993", "1e999999999"), "create_table"
    )
    assert [row[1] for row in made["rows"]] == ["9007199254740993", "1e999999999"]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "NaN",
        '{"r": NaN}',
        '{"r":[{"n":1,"n":2}]}',
        "[" * 100_000,
        '{"r":["\\ud800"]}',
        "\ud800",
        '{"r":[{"n":"a","v":1},[1]]}',
        '{"r":' + "[" * 2000 + "]" * 2000 + "}",
    ],
)
def test_data_that_cannot_be_read_is_a_problem(source: str) -> None:
    assert isinstance(worked_out(BAR, source), str)


@pytest.mark.parametrize(
    "pointer",
    ["r", "/r/" + "0/" * 40, "/" * 600, "/r/00", "/r/-1", "/r/999999999", "/~", "/__proto__"],
)
def test_a_pointer_that_leads_nowhere_is_a_problem(pointer: str) -> None:
    said = worked_out({**BAR, "rows": pointer}, rows("1"))
    assert isinstance(said, str) and "/data/rows" in said


@pytest.mark.parametrize(
    "name", ["__proto__", "constructor", "toString", "a/b", "~", "", " ", "ключ"]
)
def test_any_name_is_only_a_name(name: str) -> None:
    source = json.dumps({"r": [{"n": "a", name: 5}]})
    made = worked_out({**BAR, "values": [{"column": name, "name": "V"}]}, source)
    if name:
        assert made["series"] == [{"name": "V", "values": [5]}]
    else:
        assert "/data/values/0/column" in made


def test_the_largest_top_is_refused_by_the_schema() -> None:
    assert "/data/top/n" in worked_out({**BAR, "top": {"n": 10**9}}, rows("1"))


def test_too_many_rows_are_refused_with_a_way_out() -> None:
    said = worked_out(BAR, rows(*(["1"] * 500)))
    assert "use top, where or group" in said
    assert worked_out({**BAR, "top": 3}, rows(*(["1"] * 500)))["labels"] == ["a0", "a1", "a2"]


def test_large_data_is_worked_out_once() -> None:
    source = json.dumps({"r": [{"n": f"g{n % 7}", "v": n} for n in range(50_000)]})
    group = {"by": "n", "values": [{"calculate": "sum", "column": "v"}]}
    made = worked_out({"call": "t#1", "rows": "/r", "group": group}, source)
    assert sum(made["series"][0]["values"]) == sum(range(50_000))


def test_more_rows_than_can_be_worked_on_are_refused() -> None:
    assert "at most 100000" in worked_out(BAR, '{"r":[' + ",".join(["1"] * 100_001) + "]}")


def test_columns_of_one_name_are_refused() -> None:
    source = '{"r":[["a",1],["b",2]]}'
    assert "twice" in worked_out({**BAR, "columns": ["n", "n"]}, source)
    twice = {
        **BAR,
        "columns": ["n", "v"],
        "values": [{"column": "n", "name": "X"}, {"column": "v", "name": "x"}],
    }
    assert "one name" in worked_out(twice, source)


def test_text_is_searched_as_text() -> None:
    condition = {"column": "n", "op": "contains", "value": "(a+)+$"}
    assert "gives no rows" in worked_out({**BAR, "where": [condition]}, rows("1"))


def test_a_mean_is_not_added_to_other_rows() -> None:
    group = {"by": "n", "values": [{"calculate": "mean", "column": "v"}]}
    said = worked_out({**BAR, "group": group, "top": {"n": 1, "other": "Rest"}}, rows("1", "2"))
    assert "/data/top/other" in said


def test_a_row_cannot_pass_for_the_others() -> None:
    source = '{"r":[{"n":"Rest","v":9},{"n":"b","v":1}]}'
    assert "is the name of a row" in worked_out({**BAR, "top": {"n": 1, "other": "Rest"}}, source)


@pytest.mark.parametrize("unit", ["0", "000", " ½", "−", ".5", ",0", "٣", "e9", "\u202e", "x²"])
def test_a_unit_cannot_pass_for_digits(unit: str) -> None:
    payload = {"id": "x", "data": {"call": "t#1", "at": "/v"}, "format": {"suffix": unit}}
    found = catalog.check("create_value", payload, ())
    assert [p.pointer for p in found if "format" in p.pointer]


@pytest.mark.parametrize(
    "name", ["bytes; unaltered. Data: other", "\u202egnp", "a\nb", "”. Data: x “", "x" * 500, ""]
)
def test_no_name_can_pass_for_a_part_of_the_note(name: str) -> None:
    shown = word(name)
    assert shown.startswith("“") and shown.endswith("”") and len(shown) <= 50
    assert not set(shown[1:-1]) & set("“”\n\u202e")


def test_a_note_quotes_what_the_model_called_a_column() -> None:
    data = {
        **BAR,
        "values": [{"column": "v", "name": "Facts, unaltered"}],
        "version": 1,
        "digest": "sha256:" + "a" * 64,
    }
    note = source_note({"id": "x", "labels": [], "series": [], "data": data}, language("en").words)
    assert "column v shown as “Facts, unaltered”" in note and "call 1, unaltered" not in note


@given(st.text(max_size=60))
def test_every_text_is_a_number_or_not(text: str) -> None:
    found = decimal_of(text)
    assert found is None or (found.is_finite() and abs(found.adjusted()) <= 400)


@given(st.text(max_size=30), st.sampled_from(["day", "week", "month", "quarter", "year"]))
def test_every_text_is_a_date_or_not(text: str, bucket: Any) -> None:
    assert bucket_of(text, bucket) is None or text[:4].isdigit()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("nrv/~0", max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("nrv"), inner, max_size=3)
    ),
    max_leaves=12,
)
MEMBERS = (
    "call",
    "rows",
    "columns",
    "where",
    "group",
    "sort",
    "top",
    "round",
    "label",
    "values",
    "at",
    "calculate",
    "column",
)


@given(
    st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=5),
    JSON,
    st.sampled_from(sorted(TOOLS)),
)
def test_any_reply_and_any_data_are_answered(data: Any, source: Any, tool: str) -> None:
    if tool in ("create_checklist", "create_file", "create_svg", "withdraw_artifact"):
        return
    assert worked_out({"call": "t#1", **data}, json.dumps(source), tool) is not None


@pytest.mark.req("binding-cost")
def test_data_cost_less_than_two_thousand_tokens_in_all_tools() -> None:
    plain = {tool.name: sent(tool) for tool in offered.report_tools()}
    more = sum(sent(tool) - plain.get(tool.name, 0) for tool in TOOLS.values())
    assert more <= 2000 * USUAL_BYTES_A_TOKEN


def sent(tool: ToolDefinition) -> int:
    return len(tool.description.encode()) + len(canonical(tool.input_schema))


@pytest.mark.req("binding-cost")
@pytest.mark.parametrize(
    ("data", "at"),
    [
        ({"where": [{"column": "v", "op": "like", "value": 1}]}, "/data/where/0/op"),
        ({"where": [{"column": "v", "op": "=", "value": [1]}]}, "/data/where/0/value"),
        ({"group": {"by": "n", "values": []}}, "/data/group/values"),
        ({"group": {"by": "n", "values": [{"calculate": "median"}]}}, "/group/values/0/calculate"),
        ({"sort": [{"by": "v", "order": "up"}]}, "/data/sort/0/order"),
        ({"top": {"n": 0}}, "/data/top/n"),
        ({"round": 13}, "/data/round"),
        ({"values": [{"column": ""}]}, "/data/values/0/column"),
    ],
)
def test_the_gate_holds_data_to_all_its_rules(data: Any, at: str) -> None:
    assert at in worked_out({**BAR, **data}, rows("1"))


class TestMissingValues:
    def test_are_gaps_in_charts_of_categories(self) -> None:
        made = worked_out(BAR, rows("1", "null", '""', "2"))
        assert made["series"][0]["values"] == [1, None, None, 2]

    @pytest.mark.parametrize("tool", ["create_pie_chart", "create_histogram_chart"])
    def test_are_refused_where_nothing_can_be_left_out(self, tool: str) -> None:
        said = worked_out(BAR, rows("1", "null"), tool)
        assert "/data/values/0/column" in said and "not empty" in said

    def test_text_among_the_others_is_never_left_out_of_their_sum(self) -> None:
        top = {"n": 1, "other": "Rest"}
        said = worked_out({**BAR, "top": top}, rows("1", "2", '"n/a"'))
        assert "/data/top/other" in said


class TestTheNote:
    """Whatever a reader cannot see in the figure itself is in the sentence under it."""

    def note(self, data: Any, tool: str = "create_pie_chart", tag: str = "en") -> str:
        source = (
            '{"r":[{"n":"a","v":1,"net":{"sum":2},"gross":{"sum":3}}],"old":[{"n":"a","v":9}],'
            '"cells":[["a",4,5]]}'
        )
        made = worked_out(data, source, tool)
        assert isinstance(made, dict), made
        return source_note(made, language(tag).words)

    def test_names_the_columns_of_a_figure_that_does_not(self) -> None:
        assert "unaltered: v by n, at /r (sha256:" in self.note(BAR)

    def test_tells_places_of_one_result_apart(self) -> None:
        assert "at /old" in self.note({**BAR, "rows": "/old"})

    def test_tells_columns_apart_whose_last_steps_are_equal(self) -> None:
        notes = [self.note({**BAR, "values": [f"/{c}/sum"]}) for c in ("net", "gross")]
        assert "column /net/sum shown as “sum”" in notes[0]
        assert "column /gross/sum shown as “sum”" in notes[1]

    def test_says_that_the_model_named_the_columns(self) -> None:
        named = {"rows": "/cells", "columns": ["n", "profit", "loss"], "values": ["profit"]}
        note = self.note({**BAR, **named})
        assert "columns named by the model: “n”, “profit”, “loss”" in note
        assert "unaltered" not in note

    def test_speaks_the_language_of_the_page(self) -> None:
        note = self.note({**BAR, "top": {"n": 1, "by": "v"}}, tag="de")
        assert note.startswith("Daten: t, Aufruf 1: die größten 1 nach v; v nach n, unter /r")

    def test_of_a_value_that_nothing_bound_says_that_it_was_typed(self) -> None:
        note = source_note({"id": "x", "value": "5", "shown": "5"}, language("en").words)
        assert note == "Numbers typed by the model."
