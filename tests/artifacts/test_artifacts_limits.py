"""Every limit of every kind, at the limit and one beyond it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from artifact_builders import MINIMAL, problems

Build = Callable[[int], dict[str, Any]]

AXIS_CHARTS = (
    "create_bar_chart",
    "create_line_chart",
    "create_area_chart",
    "create_stacked_bar_chart",
)


def chart(**members: Any) -> dict[str, Any]:
    return {"id": "a", "labels": ["x"], "series": [{"name": "s", "values": [1]}], **members}


def series(count: int, values: int = 1) -> list[dict[str, Any]]:
    return [{"name": f"s{i}", "values": [1] * values} for i in range(count)]


def pie(**segment: Any) -> dict[str, Any]:
    return {"id": "a", "segments": [{"label": "x", "value": 1, **segment}]}


def scatter(series_count: int = 1, points: int = 1, **point: Any) -> dict[str, Any]:
    one = [{"x": i, "y": i, **point} for i in range(points)]
    return {"id": "a", "series": [{"name": f"s{i}", "points": one} for i in range(series_count)]}


def table(**members: Any) -> dict[str, Any]:
    return {"table": {"kind": "table", "id": "a", "columns": ["x"], "rows": [["y"]], **members}}


def item_list(**members: Any) -> dict[str, Any]:
    return {"list": {"kind": "list", "id": "a", "items": ["x"], **members}}


def checklist(count: int = 1, **item: Any) -> dict[str, Any]:
    items = [{"id": f"i{i}", "label": "x", **item} for i in range(count)]
    return {"checklist": {"kind": "checklist", "id": "a", "items": items}}


def file(name: str = "a.md", content: str = "x") -> dict[str, Any]:
    return {"name": name, "content": content}


def folders(count: int) -> str:
    return "/".join(["f"] * (count - 1) + ["a.md"])


def long_name(length: int) -> str:
    """Three folders and a leaf, each within its own limit, ``length`` in all."""
    return "/".join(["f" * 48, "g" * 48, "h" * 40, "l" * (length - 142) + ".md"])


LIMITS: list[tuple[str, str, int, Build, str]] = [
    ("file content", "create_file", 48_000, lambda n: file(content="x" * n), "/content"),
    ("file segments", "create_file", 5, lambda n: file(folders(n)), "/name"),
    ("file folder", "create_file", 48, lambda n: file("f" * n + "/a.md"), "/name"),
    ("file leaf md", "create_file", 48, lambda n: file("f" * (n - 3) + ".md"), "/name"),
    ("file leaf txt", "create_file", 48, lambda n: file("f" * (n - 4) + ".TXT"), "/name"),
    ("file name", "create_file", 160, lambda n: file(long_name(n)), "/name"),
    (
        "pie segments",
        "create_pie_chart",
        24,
        lambda n: {"id": "a", "segments": [{"label": f"{i}", "value": 1} for i in range(n)]},
        "/segments",
    ),
    ("pie label", "create_pie_chart", 128, lambda n: pie(label="x" * n), "/segments/0/label"),
    ("scatter series", "create_scatter_chart", 6, lambda n: scatter(n), "/series"),
    ("scatter points", "create_scatter_chart", 48, lambda n: scatter(1, n), "/series/0/points"),
    (
        "scatter label",
        "create_scatter_chart",
        128,
        lambda n: scatter(label="x" * n),
        "/series/0/points/0/label",
    ),
    (
        "scatter name",
        "create_scatter_chart",
        64,
        lambda n: {"id": "a", "series": [{"name": "x" * n, "points": [{"x": 1, "y": 1}]}]},
        "/series/0/name",
    ),
    (
        "table columns",
        "create_table",
        12,
        lambda n: table(columns=[f"c{i}" for i in range(n)], rows=[]),
        "/table/columns",
    ),
    ("table header", "create_table", 64, lambda n: table(columns=["x" * n]), "/table/columns/0"),
    ("table rows", "create_table", 80, lambda n: table(rows=[["y"]] * n), "/table/rows"),
    ("table cell", "create_table", 512, lambda n: table(rows=[["y" * n]]), "/table/rows/0/0"),
    ("list items", "create_list", 48, lambda n: item_list(items=["x"] * n), "/list/items"),
    ("list item", "create_list", 512, lambda n: item_list(items=["x" * n]), "/list/items/0"),
    ("checklist items", "create_checklist", 64, lambda n: checklist(n), "/checklist/items"),
    (
        "checklist item id",
        "create_checklist",
        48,
        lambda n: checklist(id="x" * n),
        "/checklist/items/0/id",
    ),
    (
        "checklist label",
        "create_checklist",
        320,
        lambda n: checklist(label="x" * n),
        "/checklist/items/0/label",
    ),
    (
        "svg content",
        "create_svg",
        64_000,
        lambda n: {"svg": {"id": "a", "content": "<svg><desc>" + "x" * (n - 24) + "</desc></svg>"}},
        "/svg/content",
    ),
]
for name in AXIS_CHARTS:
    LIMITS += [
        (
            f"{name} labels",
            name,
            32,
            lambda n: chart(labels=[f"l{i}" for i in range(n)], series=series(1, n)),
            "/labels",
        ),
        (f"{name} series", name, 8, lambda n: chart(series=series(n)), "/series"),
        (f"{name} label", name, 128, lambda n: chart(labels=["x" * n]), "/labels/0"),
        (
            f"{name} series name",
            name,
            64,
            lambda n: chart(series=[{"name": "x" * n, "values": [1]}]),
            "/series/0/name",
        ),
    ]


def with_member(tool: str, member: str, value: str) -> dict[str, Any]:
    arguments = dict(MINIMAL[tool])
    (first, *_) = arguments
    if isinstance(arguments[first], dict):
        return {first: {**arguments[first], member: value}}
    return {**arguments, member: value}


for name in MINIMAL:
    wrapper = next((f"/{k}" for k, v in MINIMAL[name].items() if isinstance(v, dict)), "")
    if name != "create_file":
        LIMITS += [
            (
                f"{name} id",
                name,
                64,
                lambda n, t=name: with_member(t, "id", "x" * n),
                f"{wrapper}/id",
            ),
            (
                f"{name} title",
                name,
                200,
                lambda n, t=name: with_member(t, "title", "x" * n),
                f"{wrapper}/title",
            ),
        ]


@pytest.mark.req("artifact-limits")
@pytest.mark.parametrize(
    ("tool", "limit", "build", "pointer"),
    [pytest.param(*case[1:], id=case[0].replace(" ", "-")) for case in LIMITS],
)
def test_a_limit_holds_at_n_and_breaks_at_n_plus_one(
    tool: str, limit: int, build: Build, pointer: str
) -> None:
    assert problems(tool, build(limit)) == ()
    found = problems(tool, build(limit + 1))
    assert pointer in [problem.pointer for problem in found]


@pytest.mark.req("artifact-limits")
def test_lengths_count_code_points_not_bytes_or_utf16_units() -> None:
    assert problems("create_table", table(rows=[["😀" * 512]])) == ()
    (problem,) = problems("create_table", table(rows=[["😀" * 513]]))
    assert (problem.limit, problem.actual) == (512, 513)


@pytest.mark.req("artifact-limits")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_pie_chart", {"id": "a", "segments": []}),
        ("create_bar_chart", chart(labels=[])),
        ("create_bar_chart", chart(series=[])),
        ("create_bar_chart", chart(orientation="diagonal")),
        ("create_bar_chart", chart(orientation=None)),
        ("create_stacked_bar_chart", chart(series=[{"name": "s", "values": [-1]}])),
        ("create_pie_chart", pie(value=-0.1)),
        ("create_pie_chart", pie(value="12")),
        ("create_line_chart", chart(series=[{"name": "s", "values": ["1"]}])),
        ("create_scatter_chart", scatter(0)),
        ("create_scatter_chart", scatter(1, 0)),
        ("create_table", table(columns=[])),
        ("create_table", table(kind="list")),
        ("create_table", {"table": {"id": "a", "columns": ["x"], "rows": []}}),
        ("create_table", table(rows=[[["nested"]]])),
        ("create_list", item_list(items=[])),
        ("create_list", item_list(ordered="yes")),
        ("create_checklist", checklist(0)),
        ("create_checklist", checklist(checked="true")),
        ("create_checklist", checklist(id="has space")),
        ("create_file", file("a.json")),
        ("create_file", file(content="")),
        ("create_file", {**file(), "surprise": 1}),
        ("create_file", {**file(), "replace": "yes"}),
    ],
)
def test_what_the_schema_refuses(tool: str, arguments: dict[str, Any]) -> None:
    assert problems(tool, arguments)
