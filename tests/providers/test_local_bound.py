"""The bindings that a small model may choose from: only what its results have named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.artifacts.binding.shape import DataShape, data_line, shape_of
from artificer.artifacts.binding.shape_line import read_line
from artificer.backends.artifact.offered import report_tools
from artificer.contracts.definition import ModelRequest, ToolDefinition
from artificer.contracts.model_settings import ModelSettings
from artificer.contracts.schema import compile_schema
from artificer.ports import Memo
from artificer.providers.local import Local
from artificer.providers.local_bound import named_in
from artificer.providers.local_offer import offered
from artificer.providers.local_text import closing_grammar
from artificer.values.blocks import Message, ToolResultBlock, ToolUseBlock, user
from artificer.values.exact_json import parse
from artificer.values.model import ToolChoice

DATA = {
    "total": 7,
    "folders": [{"folder": "src", "lines": 5, "files": 1}, {"folder": "docs", "lines": 2}],
    "weeks": [{"week": "2026-11-16", "commits": 3}, {"week": "2026-11-23", "commits": 4}],
}
TOOLS = {tool.name: tool for tool in report_tools(binding=True)}
BOUND = (
    *("create_bar_chart", "create_line_chart", "create_pie_chart", "create_scatter_chart"),
    *("create_table", "create_list", "create_checklist", "create_value"),
)


def result(data: Any, label: str = "count#1", status: Any = "ok") -> Message:
    line = data_line(label, shape_of(parse(json.dumps(data))))
    block = ToolResultBlock(tool_use_id="c", status=status, content=f"…\n{line}")
    return Message(role="user", blocks=(block,))


def called(name: str, **arguments: Any) -> Message:
    block = ToolUseBlock(id="d", name=name, arguments=json.dumps(arguments))
    return Message(role="assistant", blocks=(block,))


def forms(name: str, *messages: Message) -> list[dict[str, Any]]:
    """Return the data of each form that a tool is offered with."""
    schema = offered(TOOLS[name], named_in(messages)).input_schema
    found = schema.get("anyOf", [schema])
    assert isinstance(found, list)
    members = [each["properties"] for each in found]  # type: ignore[index, call-overload]
    inner: list[Any] = [m.get("table", {}).get("properties", m) for m in members]  # type: ignore[union-attr]
    return [each["data"]["const"] for each in inner]


def values_of(schema: dict[str, Any]) -> Any:
    """Return the first call that a form allows."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    return {name: values_of(member) for name, member in schema["properties"].items()}


@pytest.mark.req("local-bound")
class TestASmallModel:
    @pytest.mark.parametrize("name", BOUND)
    def test_is_offered_calls_that_the_tool_takes(self, name: str) -> None:
        numbers = {"pairs": [{"x": 1, "y": 2, "name": "a"}]}
        messages = (result(DATA), result(numbers, "pairs#1"))
        schema = offered(TOOLS[name], named_in(messages)).input_schema
        options = schema.get("anyOf", [schema])
        assert isinstance(options, list)
        check = compile_schema(TOOLS[name].input_schema)
        for option in options:
            made = values_of(option)  # type: ignore[arg-type]
            assert not list(check.problems(made)), made

    def test_chooses_among_the_columns_of_its_results(self) -> None:
        found = forms("create_bar_chart", result(DATA))
        assert sorted((it["rows"], it["label"], it["values"][0]["column"]) for it in found) == [
            ("/folders", "folder", "files"),
            ("/folders", "folder", "lines"),
            ("/weeks", "week", "commits"),
        ]

    def test_draws_lines_over_time_where_there_are_dates(self) -> None:
        assert {it["rows"] for it in forms("create_line_chart", result(DATA))} == {"/weeks"}

    def test_is_not_offered_what_it_has_shown_while_there_is_more(self) -> None:
        before = called("create_bar_chart", id="a", data={"call": "count#1", "rows": "/folders"})
        found = forms("create_pie_chart", result(DATA), before)
        assert {it["rows"] for it in found} == {"/weeks"}
        after = called("create_table", table={"data": {"call": "count#1", "rows": "/weeks"}})
        found = forms("create_pie_chart", result(DATA), before, after)
        assert {it["rows"] for it in found} == {"/weeks", "/folders"}

    def test_writes_no_digit_in_a_title(self) -> None:
        schema = offered(TOOLS["create_value"], named_in([result({"a1b22": 3})])).input_schema
        assert schema["properties"]["title"] == {"enum": ["A b", "Number of a b"]}  # type: ignore[index, call-overload]

    def test_is_offered_nothing_of_failed_calls_or_of_other_tools(self) -> None:
        plain = offered(TOOLS["create_bar_chart"])
        failed = named_in([result(DATA, status="error")])
        assert offered(TOOLS["create_bar_chart"], failed) == plain
        other = ToolDefinition(name="x", description="X.", input_schema={"type": "object"})
        assert offered(other, named_in([result(DATA)])) == offered(other)

    def test_charts_the_first_rows_of_many(self) -> None:
        rows = [{"name": f"n{n}", "size": n} for n in range(50)]
        assert forms("create_bar_chart", result({"rows": rows}))[0]["top"] == {"n": 12}
        assert forms("create_table", result({"rows": rows}))[0].get("top") is None


names = st.text(min_size=1, max_size=70)
rows = st.lists(st.dictionaries(names, st.integers() | st.text(max_size=5), min_size=1), max_size=3)


@pytest.mark.req("local-bound")
class TestTheLine:
    @given(st.dictionaries(names, rows | st.integers() | names, max_size=5))
    def test_reads_back_as_what_it_names_of_the_data(self, data: dict[str, Any]) -> None:
        shape = shape_of(parse(json.dumps(data)))
        found = read_line(data_line("t#1", shape))
        assert found is not None
        label, read = found
        assert label == "t#1"
        whole = {place.pointer: place for place in shape.places}
        for place in read.places:
            assert place.rows == whole[place.pointer].rows
            assert set(place.columns) <= set(whole[place.pointer].columns)
        assert set(read.values) <= set(shape.values)

    @given(st.text(max_size=500))
    def test_may_be_anything(self, text: str) -> None:
        read_line(text)
        read_line(f"[Data: t#1 · {text}]")

    def test_of_nothing_is_nothing(self) -> None:
        assert read_line("[Data: t#1 cannot be bound: no]") == ("t#1", DataShape())
        assert read_line("Data") is None


@pytest.mark.req("local-prose")
class TestTheProse:
    made = Message(
        role="user",
        blocks=tuple(
            ToolResultBlock(
                tool_use_id=str(n),
                status="ok",
                content=f"Cite it as {{{{artifact:{cited}}}}}.",
            )
            for n, cited in enumerate(("value:files", "value:lines", "chart:folders"))
        ),
    )

    def test_of_the_author_stands_before_each_placeholder(self) -> None:
        rules = 'opening ::= "# A"\nabout-value-files ::= "Files:"\nabout-chart-folders ::= "See:"'
        root = (closing_grammar([self.made], rules) or "").splitlines()[0]
        assert root == (
            r'root ::= opening "\n\n" about-value-files " " "{{artifact:value:files}}" "." " " '
            r'cited " " "{{artifact:value:lines}}" "." "\n\n" '
            r'about-chart-folders "\n\n" "{{artifact:chart:folders}}"'
        )

    def test_leaves_a_grammar_with_a_root_alone(self) -> None:
        for grammar, same in (('root ::= "Yes."', True), ('opening ::= "Yes."', False)):
            body = {"grammar": grammar}
            settings = ModelSettings(extra_body=body).recorded
            request = ModelRequest(
                model="m",
                system="",
                tools=(),
                tool_choice=ToolChoice(mode="none"),
                max_tokens=9,
                settings=settings,
            )
            sent = Local(Path("m.gguf")).prepare(request, [user("Go."), self.made], Memo())
            assert (sent.body["grammar"] == grammar) is same
            assert "root ::=" in str(sent.body["grammar"])
