"""Reports to export: the realistic one, and one that is hostile and extreme."""

from __future__ import annotations

from functools import cache
from typing import Any

from render_sample import CALLS, Call
from render_sample import report as make_report

from artificer.artifacts import catalog
from artificer.render.charts.words import Grid
from artificer.render.export.exported import Exported
from artificer.render.export.forms import ReportFormat, report_files
from artificer.render.export.single import grid_of
from artificer.render.tables import shown
from artificer.render.text import one_line

FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "=cmd|' /C calc'!A0", '=HYPERLINK("http://a.b")']
LONG = "A very long category name that nobody would ever want to read twice, number "
ARABIC = "إيرادات الربع الأول"
WIDE = [f"Column {n}" for n in range(1, 13)]

HOSTILE_NARRATIVE = """\
# Report <script>alert(1)</script> & "quotes"

See {{artifact:chart:line}} and [a link](https://example.org/a?b=c&d=e), [bad](javascript:alert(1)),
[worse](file:///etc/passwd), ![pic](file://CANARY), ![remote](http://127.0.0.1:9/x.png), `code <b>`.

<img src="file://CANARY"><iframe src="http://127.0.0.1:9/"></iframe>
<link rel="stylesheet" href="http://127.0.0.1:9/a.css"><style>@import "file://CANARY";</style>

{{artifact:table:wide}}

مرحبا بالعالم، هذا **تقرير** بالعربية مع الرقم 1234.

{{artifact:table:formulas}}

{{artifact:chart:extreme}}

1. One
2. Two

> Quoted *text*

```html
<script>alert("in code")</script>
    indented
```

{{artifact:list:items}}
{{artifact:checklist:ticks}}
{{artifact:file:notes/a.md}}
{{artifact:svg:drawing}}
"""

HOSTILE: list[Call] = [
    (
        "create_line_chart",
        {
            "id": "line",
            "title": "=1+1 <b>lines</b>",
            "labels": [f"{LONG}{n}" for n in range(8)],
            "series": [
                {
                    "name": "</svg><script>alert(1)</script>",
                    "values": [1, -2, 3.5, 0, 1e15, 7, 8, 9],
                },
                {"name": ARABIC, "values": [0.1, 0.2, 0.30000000000000004, 4, 5, 6, 7, 8]},
            ],
        },
    ),
    (
        "create_bar_chart",
        {
            "id": "extreme",
            "title": ARABIC,
            "labels": [ARABIC, "=A1", "b"],
            "series": [{"name": "s", "values": [-123456.789, 9007199254740991, 0.1]}],
        },
    ),
    (
        "create_table",
        {
            "table": {
                "kind": "table",
                "id": "wide",
                "title": "Twelve columns",
                "columns": WIDE,
                "rows": [[1234567.5 + n + m for m in range(12)] for n in range(40)],
            }
        },
    ),
    (
        "create_table",
        {
            "table": {
                "kind": "table",
                "id": "formulas",
                "columns": ["Text", "Number", "Yes"],
                "rows": [
                    *([formula, 0.1 + 0.2, True] for formula in FORMULAS),
                    ["0012", 9007199254740991, False],
                    ["1e5", -0.000001, None],
                    ["http://example.org", None, None],
                    [ARABIC, 1e21, True],
                    ["x" * 512, 3, True],
                ],
            }
        },
    ),
    (
        "create_list",
        {
            "list": {
                "kind": "list",
                "id": "items",
                "items": ["<b>one</b>", "=2", "[a](javascript:b)"],
            }
        },
    ),
    (
        "create_checklist",
        {
            "checklist": {
                "kind": "checklist",
                "id": "ticks",
                "items": [
                    {"id": "a", "label": "=done", "checked": True},
                    {"id": "b", "label": "open", "checked": False},
                ],
            }
        },
    ),
    ("create_file", {"name": "notes/a.md", "content": "![x](file://CANARY)\n<script>\n"}),
    (
        "create_svg",
        {
            "svg": {
                "id": "drawing",
                "title": "Drawing",
                "content": '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 40">'
                '<rect width="90" height="40" fill="#eee"/><text x="4" y="20">Text</text></svg>',
            }
        },
    ),
]


def exported(narrative: str | None = None, calls: list[Call] | None = None) -> Exported:
    """A report with the JSON of each artifact, as a run exports it."""
    made = CALLS if calls is None else calls
    report = make_report(calls=made) if narrative is None else make_report(narrative, made)
    payloads: dict[Any, Any] = {}
    for tool, arguments in made:
        kind, name, _ = catalog.identity(tool, arguments)
        payloads[kind, name] = arguments
    return Exported(report, payloads)


def hostile(canary: str = "/nowhere/canary.png") -> Exported:
    """A report of a hostile model."""
    return exported(HOSTILE_NARRATIVE.replace("CANARY", canary), HOSTILE)


def written(source: Exported, form: ReportFormat) -> bytes:
    """The report in a form, if it is one file."""
    (data,) = report_files(source, form, f"report.{form}").values()
    return data


SAMPLES = {"realistic": exported, "hostile": hostile}


@cache
def sample(name: str) -> Exported:
    """A report that tests share."""
    return SAMPLES[name]()


@cache
def sample_files(name: str, form: ReportFormat) -> dict[str, bytes]:
    """The files of a shared report in a form, which is made once."""
    return report_files(sample(name), form, f"report.{form}")


def sample_in(name: str, form: ReportFormat) -> bytes:
    """A shared report in a form, if it is one file."""
    (data,) = sample_files(name, form).values()
    return data


def grids(source: Exported) -> list[Grid]:
    """The rows of every table and every chart."""
    artifacts = source.report.artifacts
    kept = (grid_of(made) for (kind, _), made in artifacts.items() if kind in ("table", "chart"))
    return [grid for grid in kept if grid is not None]


def as_read(text: str) -> str | float:
    """A text as its reader takes it: a number, however its digits are grouped, or words."""
    try:
        return float(text.replace(",", "").replace("−", "-"))
    except ValueError:
        return one_line(text)


def as_shown(grid: Grid) -> list[list[str | float]]:
    """The header and the rows of a grid, as a reader takes them."""
    rows = [grid.columns, *([shown(cell) for cell in row] for row in grid.rows)]
    return [[as_read(cell) for cell in row] for row in rows]
