"""A report with every kind of chart, wide tables, every construct of prose and extreme data."""

from __future__ import annotations

from typing import Any

from render_sample import SVG, WEEKS, Call

LONG = [
    f"A very long category name that goes on and on, number {n}, of the northern region"
    for n in range(1, 33)
]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun"]
DAYS = ["2026-01-05", "2026-01-12", "2026-02-23", "2026-03-02", "2026-03-09", "2026-06-15"]


def _spread(seed: int, count: int) -> list[float]:
    """Numbers that look measured, the same on every machine."""
    values, state = [], seed
    for _ in range(count):
        state = (state * 1_103_515_245 + 12_345) % 2**31
        values.append(round(40 + (state >> 16) % 400 / 10 + (state >> 8) % 90 / 3, 1))
    return values


CHARTS: list[Call] = [
    (
        "create_line_chart",
        {
            "id": "gaps",
            "title": "Latency of two regions, with weeks that were not measured",
            "labels": WEEKS,
            "unit": "ms",
            "value_title": "Median latency",
            "label_title": "Calendar week",
            "references": [{"value": 300, "label": "target"}],
            "source": "load balancer logs, sampled at one per cent",
            "series": [
                {
                    "name": "Europe",
                    "values": [412, 418, None, 421, 350, 281, 262, 259, 266, 255, 252, 249],
                },
                {
                    "name": "Asia",
                    "values": [512, 538, 509, 571, 450, 381, 362, None, None, 355, 352, 349],
                },
            ],
        },
    ),
    (
        "create_line_chart",
        {
            "id": "time",
            "title": "Dates that are not evenly spaced",
            "labels": DAYS,
            "time": True,
            "unit": "°C",
            "series": [{"name": "Temperature", "values": [-4, -7.5, 2, 6, 5.5, 24]}],
        },
    ),
    (
        "create_bar_chart",
        {
            "id": "signed",
            "title": "Profit and loss by month",
            "labels": MONTHS,
            "unit": "k€",
            "series": [{"name": "Profit", "values": [12, -8.5, -20, 31, 4.25, -0.5]}],
        },
    ),
    (
        "create_bar_chart",
        {
            "id": "long",
            "title": "Thirty-two long names of categories",
            "labels": LONG,
            "series": [{"name": "Orders", "values": [(n * 37) % 61 - 9 for n in range(32)]}],
        },
    ),
    (
        "create_stacked_bar_chart",
        {
            "id": "stack",
            "title": "Customers by plan and year",
            "labels": [str(year) for year in range(2015, 2027)],
            "series": [
                {
                    "name": name,
                    "values": [1000 * (n + 1) + 340_000 * k * (k + n) for k in range(12)],
                }
                for n, name in enumerate(("Free", "Team", "Business", "Enterprise", "Education"))
            ],
        },
    ),
    (
        "create_pie_chart",
        {
            "id": "many",
            "title": "Twenty segments",
            "segments": [
                {"label": f"Segment of the market number {n}", "value": 2 + (n * 7) % 23}
                for n in range(20)
            ],
        },
    ),
    (
        "create_scatter_chart",
        {
            "id": "axes",
            "title": "Throughput and latency",
            "x_title": "Requests per second",
            "y_title": "Latency (ms)",
            "series": [
                {
                    "name": "Small machines",
                    "points": [{"x": 100 * n, "y": 20 + n * n} for n in range(1, 12)],
                },
                {
                    "name": "Large machines",
                    "points": [
                        {"x": 180 * n, "y": 15 + n * n / 2, "label": f"run {n}"}
                        for n in range(1, 8)
                    ],
                },
            ],
        },
    ),
    (
        "create_area_chart",
        {
            "id": "area",
            "title": "زوار الموقع حسب الشهر",
            "labels": ["يناير", "فبراير", "مارس", "أبريل", "مايو", "يونيو"],
            "series": [{"name": "الزوار", "values": [1200, 1900, 1700, 2600, 3100, 2900]}],
        },
    ),
    (
        "create_histogram_chart",
        {
            "id": "histogram",
            "title": "Response times",
            "values": _spread(3, 300),
            "unit": "ms",
            "value_title": "Response time",
        },
    ),
    (
        "create_heat_map_chart",
        {
            "id": "heat",
            "title": "Deployments by hour and weekday",
            "columns": [f"{hour}:00" for hour in range(8, 20)],
            "rows": [
                {
                    "label": day,
                    "values": [
                        None if (d, h) == (2, 3) else (d * 7 + h * 5) % 23 for h in range(12)
                    ],
                }
                for d, day in enumerate(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"))
            ],
        },
    ),
    (
        "create_box_plot_chart",
        {
            "id": "boxes",
            "title": "Build times by machine",
            "unit": "s",
            "value_title": "Build time",
            "groups": [
                {"label": f"runner {n}", "values": [*_spread(n, 30), 160.0 + 10 * n]}
                for n in range(1, 6)
            ],
        },
    ),
    (
        "create_combined_chart",
        {
            "id": "combined",
            "title": "Sales and margin",
            "labels": MONTHS,
            "second_axis": True,
            "value_title": "Sales (k€)",
            "line_title": "Margin (%)",
            "bars": [
                {"name": "Shop", "values": [120, 150, 210, 190, None, 240]},
                {"name": "Web", "values": [80, 95, 130, 160, 170, 220]},
            ],
            "lines": [{"name": "Margin", "values": [31, 30.5, 28, 29, 33, 34]}],
        },
    ),
]


def _table(name: str, title: str, columns: list[str], rows: list[list[Any]]) -> Call:
    table = {"kind": "table", "id": name, "title": title, "columns": columns, "rows": rows}
    return "create_table", {"table": table}


TABLES: list[Call] = [
    _table(
        "wide",
        "Twelve columns and long cells",
        ["Service", *(f"Measure {n}" for n in range(1, 11)), "Comment"],
        [
            [
                f"service-{n}",
                *(round(n * 317.77 * k, k % 4) for k in range(1, 11)),
                "Seen first in week 31; the team is told, see https://example.com/a/very/long/address",
            ]
            for n in range(1, 31)
        ],
    ),
    _table(
        "numbers",
        "Numbers of every size",
        ["Name", "Share", "Visitors", "Change", "Ratio", "Checked"],
        [
            ["Alpha", 7.797, 4031, "+1.2 pp", 0.5, True],
            ["Beta", 66.29, 99768, "−3.4 pp", "n/a", False],
            ["Gamma", 6.86, 1234567, "n/a", 12, None],
            ["Delta", 100, -250, "0.0 pp", None, True],
        ],
    ),
    _table(
        "arabic",
        "المبيعات حسب المدينة",
        ["المدينة", "المبيعات", "النسبة"],
        [["القاهرة", 1200, 0.41], ["الرياض", 980.5, 0.33], ["تونس", 760, 0.26]],
    ),
    _table("empty", "Nothing yet", ["Name", "Value"], []),
    _table(
        "extremes",
        "Extreme values, and cells without one",
        ["Quantity", "Value", "Remark"],
        [
            ["Largest", 1e15, ""],
            ["Smallest above zero", 1e-9, None],
            ["Largest whole number of a double", 9007199254740991, "2^53 − 1"],
            ["Below zero", -273.15, "°C"],
            ["Zero", 0, "0"],
            ["", None, "a row without a name"],
        ],
    ),
    _table(
        "hebrew",
        "לוח זמנים",
        ["שלב", "מועד", "הושלם"],
        [["תכנון", "2026-01-15", True], ["בנייה (v2.1)", "2026-03-01", False]],
    ),
    _table(
        "words",
        "Long words and addresses",
        ["Word", "Language"],
        [
            ["Donaudampfschifffahrtselektrizitätenhauptbetriebswerk", "German"],
            ["lentokonesuihkuturbiinimoottoriapumekaanikkoaliupseerioppilas", "Finnish"],
            ["https://example.com/a/very/long/address?with=parameters&and=more", "none"],
            ["водогрязеторфопарафинолечение", "Russian"],
        ],
    ),
    _table("one", "One row, one column", ["Only"], [["cell"]]),
]

OTHERS: list[Call] = [
    ("create_svg", {"svg": {"id": "path", "title": "The path of a request", "content": SVG}}),
    (
        "create_list",
        {
            "list": {
                "kind": "list",
                "id": "risks",
                "title": "Risks",
                "ordered": True,
                "items": ["The contract renews itself.", "One route only."],
            }
        },
    ),
    (
        "create_checklist",
        {
            "checklist": {
                "kind": "checklist",
                "id": "todo",
                "title": "Before the review",
                "items": [
                    {"id": "a", "label": "Cancel the contract", "checked": True},
                    {"id": "b", "label": "Order the second route", "checked": False},
                    {"id": "c", "label": "Measure again", "checked": False},
                ],
            }
        },
    ),
    ("create_file", {"name": "notes/queries.txt", "content": "-- One query.\nselect 1;\n"}),
]

CALLS: list[Call] = [*CHARTS, *TABLES, *OTHERS]

NARRATIVE = """\
# A report with everything in it

A script wrote this report, no model did. It has every kind of figure. The first one is
{{artifact:chart:gaps}}, the wide table is {{artifact:table:wide}}; both come later, where they
stand alone on a line.[^1] More at https://example.org/reports, and the code is `make check`.[^code]

## Trends

{{artifact:chart:gaps}}

{{artifact:chart:time}}

The energy is $E = mc^2$, and the mean of $n$ values is

$$\\bar{x} = \\frac{1}{n} \\sum_{i=1}^{n} x_i$$

[^1]: A citation within a sentence is a link, and so is the number of a footnote.[^code]

[^code]: A footnote may have two paragraphs,

    a formula such as $a^2$, and lists in lists:

    1. one that holds another,
       - with bullets,
         - on a third level;
    2. and that goes on with its number.

    What is left is a list of tasks:

    - [x] Draw what can be drawn
    - [ ] Say what cannot
    - [ ] Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft

## Money

{{artifact:chart:signed}}

{{artifact:chart:long}}

{{artifact:chart:combined}}

## Composition

{{artifact:chart:stack}}

{{artifact:chart:many}}

### By city

{{artifact:chart:area}}

{{artifact:table:arabic}}

{{artifact:table:hebrew}}

تمت زيادة المبيعات في القاهرة بنسبة 41٪ خلال هذا العام.

## Distributions

{{artifact:chart:histogram}}

{{artifact:chart:boxes}}

{{artifact:chart:heat}}

{{artifact:chart:axes}}

## Tables

{{artifact:table:wide}}

{{artifact:table:numbers}}

{{artifact:table:extremes}}

{{artifact:table:words}}

{{artifact:table:empty}}

{{artifact:table:one}}

## Code and terms

```python
def mean(values: list[float]) -> float:
    \"\"\"Return the mean.\"\"\"
    return sum(values) / len(values)  # fails on none
```

Median
: The value in the middle.

p99
: The value that one per cent exceed.

> A percentile hides its tail.
>
> > A quote within a quote keeps its own line.

{{artifact:list:risks}}

{{artifact:checklist:todo}}

{{artifact:svg:path}}

{{artifact:file:notes/queries.txt}}
"""
