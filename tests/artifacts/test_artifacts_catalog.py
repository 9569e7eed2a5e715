"""The tools: schemas, cross-field rules, identity, loading, and what the model is told."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from artifact_builders import MINIMAL, TOOLS, pointers, problems, ref
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from artificer.artifacts import catalog
from artificer.artifacts.chart import BarChart, PieChart
from artificer.artifacts.checklist import Checklist
from artificer.artifacts.file_name import canonical_name
from artificer.artifacts.names import path_fault
from artificer.artifacts.table import Table
from artificer.artifacts.tool_names import is_artifact_tool, kind_of
from artificer.backends.artifact import offered
from artificer.contracts.definition import Toolset
from artificer.contracts.schema import compile_schema
from artificer.core.gate import judge
from artificer.core.policy import Policy
from artificer.core.verdict import Verdict
from artificer.recordings.recording import read_recording
from artificer.runtime.load import load
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolUseBlock
from artificer.values.text import unprintable
from artificer.wiring.toolbox import ToolBox

NAMES = [
    "create_file",
    "create_pie_chart",
    "create_bar_chart",
    "create_line_chart",
    "create_area_chart",
    "create_scatter_chart",
    "create_stacked_bar_chart",
    "create_histogram_chart",
    "create_heat_map_chart",
    "create_box_plot_chart",
    "create_combined_chart",
    "create_table",
    "create_list",
    "create_checklist",
    "create_svg",
]


def _nodes(schema: Any) -> Any:
    yield schema
    for child in schema.get("properties", {}).values():
        yield from _nodes(child)
    if "items" in schema:
        yield from _nodes(schema["items"])


@pytest.mark.req("artifact-tools")
def test_the_tools_of_the_seed_and_four_charts_are_pure_artifact_tools() -> None:
    assert [tool.name for tool in offered.tools()] == NAMES
    assert {(t.backend, t.effect, t.risk) for t in offered.tools()} == {
        ("artifact", "pure", "info")
    }
    assert all(is_artifact_tool(name) for name in NAMES)
    assert not is_artifact_tool("create_pdf")


@pytest.mark.req("artifact-tools")
@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_self_contained_closed_and_explains_each_property(name: str) -> None:
    schema = TOOLS[name].input_schema
    text = json.dumps(schema)
    assert "$ref" not in text and "$defs" not in text and '"default"' not in text
    for node in _nodes(schema):
        if node["type"] == "object":
            assert node["additionalProperties"] is False
            assert all("description" in child for child in node["properties"].values())


@pytest.mark.req("artifact-tools")
@pytest.mark.parametrize("name", NAMES)
def test_a_minimal_call_passes_loads_and_says_how_to_cite_it(name: str) -> None:
    arguments = MINIMAL[name]
    assert problems(name, arguments) == ()
    kind, artifact_id, _ = catalog.identity(name, arguments)
    told = catalog.describe(name, catalog.load(name, arguments))
    assert told.startswith(f"{name}: ")
    assert f"{{{{artifact:{kind}:{artifact_id}}}}}" in told
    assert f"{{{{artifact:{kind}:" in TOOLS[name].description


@pytest.mark.req("artifact-tools")
def test_what_the_model_is_told_about_a_table() -> None:
    rows = [["a", 1, True], ["b", 2.5, None]]
    arguments: JsonObject = {
        "table": {"kind": "table", "id": "costs", "columns": ["x", "y", "z"], "rows": rows}
    }
    table = catalog.load("create_table", arguments)
    assert isinstance(table, Table)
    assert [list(row) for row in table.rows] == rows
    assert [type(cell) for cell in table.rows[0]] == [str, int, bool]
    assert catalog.describe("create_table", table) == (
        'create_table: table "costs" (3 columns, 2 rows). Cite it as {{artifact:table:costs}}.'
    )


@pytest.mark.req("artifact-tools")
def test_optional_members_have_their_defaults_and_replace_is_no_part_of_the_payload() -> None:
    bar = catalog.load("create_bar_chart", {**MINIMAL["create_bar_chart"], "replace": True})
    assert isinstance(bar, BarChart) and bar.orientation == "vertical" and bar.title == ""
    checklist = catalog.load("create_checklist", MINIMAL["create_checklist"])
    assert isinstance(checklist, Checklist) and checklist.items[0].checked is False
    assert "replace" not in bar.to_json()


@pytest.mark.req("artifact-all-problems")
def test_all_problems_of_a_call_are_reported_at_once_and_none_twice() -> None:
    found = problems(
        "create_bar_chart",
        {
            "id": "a b",
            "title": "x" * 201,
            "labels": ["ok", " ", 3],
            "series": [
                {"name": "", "values": [1, 2]},
                {"name": "\t", "values": [1, "2", 3]},
                {"values": []},
                "no object",
            ],
            "colour": "red",
        },
    )
    places = [problem.pointer for problem in found]
    assert sorted(places) == sorted(
        [
            "/colour",
            "/id",
            "/labels/1",
            "/labels/2",
            "/series/0/name",
            "/series/0/values",
            "/series/1/name",
            "/series/1/values/1",
            "/series/2/name",
            "/series/2/values",
            "/series/3",
            "/title",
        ]
    )
    ragged = next(problem for problem in found if problem.pointer == "/series/0/values")
    assert (ragged.limit, ragged.actual) == (3, 2)


@pytest.mark.req("artifact-data")
@pytest.mark.parametrize(
    ("tool", "change", "pointer"),
    [
        ("create_pie_chart", {"segments": [{"label": "x", "value": 0}]}, "/segments"),
        (
            "create_pie_chart",
            {"segments": [{"label": "x", "value": 1e308}, {"label": "y", "value": 1e308}]},
            "/segments",
        ),
        ("create_pie_chart", {"segments": [{"label": "\u00a0", "value": 1}]}, "/segments/0/label"),
        ("create_line_chart", {"labels": ["x", "y"]}, "/series/0/values"),
        ("create_area_chart", {"labels": [" "]}, "/labels/0"),
        ("create_area_chart", {"labels": ["\u200b\u00ad"]}, "/labels/0"),
        (
            "create_scatter_chart",
            {"series": [{"name": "s", "points": [{"x": 1, "y": 2, "label": " "}]}]},
            "/series/0/points/0/label",
        ),
        (
            "create_stacked_bar_chart",
            {"series": [{"name": "s", "values": [1e308]}, {"name": "t", "values": [1e308]}]},
            "/series",
        ),
        ("create_table", {"columns": ["Cost", "cost "]}, "/table/columns/1"),
        ("create_table", {"columns": ["a", " "]}, "/table/columns/1"),
        ("create_table", {"columns": ["a", "b"], "rows": [["1", "2"], ["3"]]}, "/table/rows/1"),
        ("create_list", {"items": ["ok", "- dash"]}, "/list/items/1"),
        ("create_list", {"items": ["1. one"]}, "/list/items/0"),
        ("create_list", {"items": ["2) two"]}, "/list/items/0"),
        ("create_list", {"items": ["* star"]}, "/list/items/0"),
        ("create_list", {"items": ["  "]}, "/list/items/0"),
        (
            "create_checklist",
            {"items": [{"id": "One", "label": "x"}, {"id": "one", "label": "y"}]},
            "/checklist/items/1/id",
        ),
        ("create_checklist", {"items": [{"id": "a", "label": " "}]}, "/checklist/items/0/label"),
        ("create_file", {"content": " \n"}, "/content"),
    ],
)
def test_a_rule_across_fields(tool: str, change: dict[str, Any], pointer: str) -> None:
    arguments = copy.deepcopy(MINIMAL[tool])
    inner = next((v for v in arguments.values() if isinstance(v, dict)), arguments)
    inner.update(change)
    assert pointers(tool, arguments) == [pointer]


@pytest.mark.req("artifact-data")
@pytest.mark.parametrize("item", ["-5 degrees", "3.5 million", "*bold* move", "1.5 is a number"])
def test_an_item_that_only_looks_like_a_marker_is_accepted(item: str) -> None:
    assert pointers("create_list", {"list": {"kind": "list", "id": "a", "items": [item]}}) == []


@pytest.mark.req("artifact-file-names")
@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("My Plan.md", "My_Plan.md"),
        ("../secret.md", "secret.md"),
        ("/etc/passwd", "etc/passwd.md"),
        ("a\\b.txt", "a/b.txt"),
        ("specs//mvp.md", "specs/mvp.md"),
        (".hidden.md", "hidden.md"),
        ("é.md", "md.md"),
        ("plan.json", "plan.json.md"),
        ("x" * 200 + ".md", "x" * 45 + ".md"),
        ("a/b/c/d/e/f.md", "a/b/c/d/f.md"),
        ("plan.md\n", "plan.md"),
        ("con.md", "con-1.md"),
        ("NUL.tar.txt", "NUL-1.tar.txt"),
        ("docs/aux/x.md", "docs/aux-1/x.md"),
        ("Com1/lpt9.md", "Com1-1/lpt9-1.md"),
        ("a./b.md", "a/b.md"),
        ("plan.md.", "plan.md"),
        ("con .md", "con_.md"),
        ("prn", "prn-1.md"),
        ("x" * 47 + "./b.md", "x" * 47 + "/b.md"),
    ],
)
def test_a_name_is_stored_as_it_is_or_refused_with_one_that_would_do(
    name: str, suggestion: str
) -> None:
    found = problems("create_file", {"name": name, "content": "x"})
    assert suggestion in [problem.limit for problem in found]
    assert problems("create_file", {"name": suggestion, "content": "x"}) == ()


@pytest.mark.req("artifact-file-names")
@settings(deadline=None)
@given(st.text(max_size=300))
def test_a_suggested_name_is_always_acceptable(name: str) -> None:
    suggestion = canonical_name(name)
    if suggestion:
        assert problems("create_file", {"name": suggestion, "content": "x"}) == ()
        assert canonical_name(suggestion) == suggestion


@pytest.mark.req("artifact-file-names")
@pytest.mark.parametrize("tool", [name for name in NAMES if name != "create_file"])
def test_an_id_names_a_file_too_so_that_it_is_not_a_device(tool: str) -> None:
    (found,) = problems(tool, with_id(tool, "Aux"))
    assert found.pointer.endswith("/id") and "Windows" in found.message
    assert problems(tool, with_id(tool, "auxiliary")) == ()


@pytest.mark.req("artifact-file-names")
def test_a_superscript_digit_makes_a_device_of_a_path_of_a_project_too() -> None:
    assert path_fault("src/COM\u00b9.py") and path_fault("Nul /x")
    assert path_fault("src/com.py") is None


@pytest.mark.req("artifact-file-names")
def test_one_name_is_not_both_a_file_and_a_folder() -> None:
    made = (ref("file", "docs/a.md"),)
    assert pointers("create_file", {"name": "docs/A.md/b.md", "content": "x"}, made) == ["/name"]
    assert pointers("create_file", {"name": "docs/b.md", "content": "x"}, made) == []


@pytest.mark.req("artifact-identity")
@pytest.mark.parametrize("tool", NAMES)
def test_a_second_artifact_of_a_kind_and_id_needs_replace(tool: str) -> None:
    arguments = MINIMAL[tool]
    kind, name, _ = catalog.identity(tool, arguments)
    made = (ref(kind, name),)
    (problem,) = problems(tool, arguments, made)
    assert "replace" in problem.message
    assert problems(tool, {**arguments, "replace": True}, made) == ()
    assert problems(tool, {**arguments, "replace": False}, made) != ()
    other_case = (ref(kind, name.upper()),)
    assert problems(tool, arguments, other_case) != ()
    assert problems(tool, {**arguments, "replace": True}, other_case) != ()


@pytest.mark.req("artifact-identity")
def test_charts_share_one_namespace_and_the_other_kinds_have_their_own() -> None:
    assert pointers("create_pie_chart", MINIMAL["create_pie_chart"], (ref("chart", "a"),)) == [
        "/id"
    ]
    assert pointers("create_list", MINIMAL["create_list"], (ref("checklist", "a"),)) == []


def with_id(tool: str, artifact_id: str) -> dict[str, Any]:
    arguments = copy.deepcopy(MINIMAL[tool])
    inner = next((v for v in arguments.values() if isinstance(v, dict)), arguments)
    inner["name" if tool == "create_file" else "id"] = artifact_id
    return arguments


@pytest.mark.req("artifact-counts")
@pytest.mark.parametrize(
    ("tool", "count"),
    [
        ("create_file", 24),
        ("create_pie_chart", 12),
        ("create_scatter_chart", 12),
        ("create_table", 8),
        ("create_list", 12),
        ("create_checklist", 8),
        ("create_svg", 8),
    ],
)
def test_a_run_makes_at_most_so_many_of_a_kind(tool: str, count: int) -> None:
    kind = kind_of(tool)
    made = tuple(ref(kind, f"n{i}.md" if kind == "file" else f"n{i}") for i in range(count))
    assert problems(tool, MINIMAL[tool], made[1:]) == ()
    replacing = with_id(tool, made[0].id)
    assert problems(tool, {**replacing, "replace": True}, made) == ()
    (problem,) = problems(tool, MINIMAL[tool], made)
    assert (problem.pointer, problem.limit, problem.actual) == ("", count, count + 1)


@pytest.mark.req("artifact-lenient")
async def test_every_call_that_recorded_runs_were_offered_is_still_taken() -> None:
    """Otherwise no such run could be resumed."""
    data = (Path(__file__).parents[1] / "journals" / "deliver-repair.jsonl").read_bytes()
    recording = await read_recording(data)
    loaded = await load(recording.journal, recording.blobs, recording.run)
    recorded = loaded.state.run_spec.tools().tools
    offered = {tool.name: tool for tool in recorded if tool.name in TOOLS}
    assert len(offered) == 11
    for name, tool in offered.items():
        assert widened(tool.input_schema, TOOLS[name].input_schema) is None, name
        assert (tool.effect, tool.backend) == (TOOLS[name].effect, TOOLS[name].backend)
    toolbox = replace(ToolBox.empty(), toolset=Toolset(tools=tuple(TOOLS.values())))
    toolbox.require_same(Toolset(tools=tuple(offered.values())))


def widened(before: Any, now: Any, place: str = "") -> str | None:
    """Where a schema refuses what an earlier one accepted; None if nowhere."""
    kinds = [{t} if isinstance(t, str) else set(t) for t in (before["type"], now["type"])]
    if not kinds[0] <= kinds[1] or set(now.get("required", ())) - set(before.get("required", ())):
        return place
    bounds = ("minLength", "maxLength", "minItems", "maxItems", "minimum", "pattern", "enum")
    if [before.get(b) for b in bounds] != [now.get(b) for b in bounds]:
        return place
    inner = [
        (name, child, now["properties"].get(name))
        for name, child in before.get("properties", {}).items()
    ]
    inner += [("items", before["items"], now["items"])] if "items" in before else []
    found = (widened(b, n, f"{place}/{name}") if n else place for name, b, n in inner)
    return next((fault for fault in found if fault is not None), None)


HIDDEN = ["\x00", "\x1b[31m", "a\x0bb", "\x7f", "\x85", "\ufffe"]


@pytest.mark.req("artifact-visible")
@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize(
    ("tool", "change", "pointer"),
    [
        ("create_list", {"items": ["ok", "a{}"]}, "/list/items/1"),
        ("create_list", {"title": "a{}"}, "/list/title"),
        ("create_checklist", {"items": [{"id": "i", "label": "a{}"}]}, "/checklist/items/0/label"),
        ("create_table", {"columns": ["a{}"]}, "/table/columns/0"),
        ("create_table", {"rows": [["a{}"]]}, "/table/rows/0/0"),
        ("create_bar_chart", {"labels": ["a{}"]}, "/labels/0"),
        ("create_line_chart", {"series": [{"name": "a{}", "values": [1]}]}, "/series/0/name"),
        ("create_pie_chart", {"segments": [{"label": "a{}", "value": 1}]}, "/segments/0/label"),
    ],
)
def test_a_character_that_cannot_be_shown_is_refused_where_it_is(
    tool: str, change: dict[str, Any], pointer: str, hidden: str
) -> None:
    arguments = copy.deepcopy(MINIMAL[tool])
    inner = next((v for v in arguments.values() if isinstance(v, dict)), arguments)
    inner.update(json.loads(json.dumps(change).replace("{}", json.dumps(hidden)[1:-1])))
    (found,) = problems(tool, arguments)
    assert found.pointer == pointer and "U+" in found.message


@pytest.mark.req("artifact-visible")
def test_tabs_and_line_ends_are_text_and_a_file_may_hold_all_but_nul() -> None:
    items = ["a\tb\nc\r\n"]
    assert pointers("create_list", {"list": {"kind": "list", "id": "a", "items": items}}) == []
    assert pointers("create_file", {"name": "a.txt", "content": "\x1b[1m\x0c"}) == []
    assert pointers("create_file", {"name": "a.txt", "content": "a\x00"}) == ["/content"]


def verdict_on(tool: str, arguments: JsonObject) -> Verdict:
    call = ToolUseBlock(id="c", name=tool, arguments=json.dumps(arguments))
    tools = Toolset(tools=offered.tools())
    (verdict,) = judge((call,), toolset=tools, policy=Policy(), made=(), limit=1, stop="tool_use")
    return verdict


def with_nulls(schema: Any, value: Any) -> Any:
    """The value with null for every optional member that it lacks."""
    if isinstance(value, list):
        return [with_nulls(schema["items"], item) for item in value]
    if not isinstance(value, dict):
        return value
    nulls = dict.fromkeys(schema["properties"].keys() - set(schema["required"]))
    return nulls | {k: with_nulls(schema["properties"][k], v) for k, v in value.items()}


@pytest.mark.req("artifact-lenient")
@pytest.mark.parametrize("tool", NAMES)
def test_null_means_that_an_optional_member_was_not_given(tool: str) -> None:
    written = with_nulls(TOOLS[tool].input_schema, MINIMAL[tool])
    assert "null" in json.dumps(written)
    verdict = verdict_on(tool, written)
    assert verdict.verdict == "allow", verdict.problems
    assert verdict.arguments and json.loads(verdict.arguments) == MINIMAL[tool]


@pytest.mark.req("artifact-lenient")
def test_null_is_not_a_value_where_one_is_needed() -> None:
    assert verdict_on("create_list", {"list": None}).verdict == "invalid"
    table = {"kind": "table", "id": "t", "columns": ["a"], "rows": [[None]]}
    verdict = verdict_on("create_table", {"table": table})
    assert verdict.arguments and json.loads(verdict.arguments) == {"table": table}


@pytest.mark.req("artifact-lenient")
def test_a_drawing_may_name_its_kind_as_the_others_must() -> None:
    drawing = MINIMAL["create_svg"]["svg"]
    verdict = verdict_on("create_svg", {"svg": {"kind": "svg", **drawing}})
    assert verdict.arguments and json.loads(verdict.arguments) == {"svg": drawing}
    (problem,) = verdict_on("create_svg", {"svg": {"kind": "list", **drawing}}).problems
    assert problem.pointer == "/svg/kind"
    assert "kind" not in TOOLS["create_svg"].input_schema["properties"]["svg"]["properties"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False)
    | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.req("artifact-all-problems")
@settings(deadline=None)
@given(st.sampled_from(NAMES), st.data())
def test_checking_survives_arguments_of_any_shape(name: str, data: st.DataObject) -> None:
    arguments = copy.deepcopy(MINIMAL[name])
    owner: Any = arguments
    while isinstance(owner, dict | list) and owner:
        key = data.draw(st.sampled_from(sorted(owner) if isinstance(owner, dict) else [0]))
        if data.draw(st.booleans()) or not isinstance(owner[key], dict | list):
            owner[key] = data.draw(JSON)
            break
        owner = owner[key]
    for problem in catalog.check(name, arguments, (ref("chart", "a"),)):
        assert problem.pointer == "" or problem.pointer.startswith("/")


SHOWN = st.characters(codec="utf-8").filter(lambda c: unprintable(c) is None)
LABEL = st.text(SHOWN, max_size=40).map("x".__add__)
NUMBER = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def bar_arguments(draw: st.DrawFn) -> JsonObject:
    labels = draw(st.lists(LABEL, min_size=1, max_size=6))
    values = st.lists(NUMBER, min_size=len(labels), max_size=len(labels))
    series = st.builds(lambda name, v: {"name": name, "values": v}, LABEL, values)
    return {"id": "a", "labels": labels, "series": draw(st.lists(series, min_size=1, max_size=3))}


@pytest.mark.req("artifact-data")
@settings(deadline=None)
@given(bar_arguments())
def test_nothing_of_a_valid_chart_is_changed(arguments: JsonObject) -> None:
    assert problems("create_bar_chart", arguments) == ()
    loaded = catalog.load("create_bar_chart", arguments).to_json()
    assert {key: loaded[key] for key in arguments} == arguments


@pytest.mark.req("artifact-data")
@settings(deadline=None)
@given(st.lists(st.tuples(LABEL, st.floats(0, 1e300)), min_size=1, max_size=24))
def test_a_pie_is_accepted_exactly_when_something_is_to_be_shown(
    shares: list[tuple[str, float]],
) -> None:
    arguments: JsonObject = {
        "id": "a",
        "segments": [{"label": label, "value": value} for label, value in shares],
    }
    assert (problems("create_pie_chart", arguments) == ()) == any(value for _, value in shares)
    assert isinstance(catalog.load("create_pie_chart", arguments), PieChart)


@pytest.mark.req("artifact-tools")
def test_every_schema_compiles() -> None:
    for tool in offered.tools():
        compile_schema(tool.input_schema)
