"""A realistic deliverable with every kind of artifact, for tests and for looking at."""

from __future__ import annotations

from typing import Any

from artificer.artifacts import catalog
from artificer.artifacts.deliverable import Deliverable, examine
from artificer.artifacts.ref import ArtifactRef, DeliverableStatus
from artificer.render.report import Provenance, Report
from artificer.values.canon import digest

NARRATIVE = """\
# Checkout latency, third quarter

The new payment gateway went live in week 31. Median latency fell by **38 %** within two weeks, and
the share of abandoned carts followed with a short delay. The gain is real: it holds for every
region but one, and it survived the sale at the end of August, the busiest ten days of the year.

{{artifact:chart:latency}}

## Where the time goes

Before the change, almost half of each request was spent waiting for the gateway. It is now the
database that dominates, as {{artifact:chart:share}} shows. The path of a request is drawn below;
the dashed box is what was replaced.

{{artifact:svg:path}}

Costs moved too. The new contract is priced by call, so that the bill follows the traffic:

{{artifact:chart:cost}}

## Regions

South America still goes through the old gateway. Everything else improved, see
{{artifact:table:regions}}; the difference by region stands in [the comparison](https://example.org/q3).

{{artifact:chart:regions}}

> A percentile hides its tail: p99 fell by less than p50, and it is p99 that customers write about.

{{artifact:chart:tail}}

{{artifact:chart:volume}}

## What remains

{{artifact:list:risks}}

{{artifact:checklist:rollout}}

The query behind every number here is kept in {{artifact:file:notes/queries.md}}, and `p50(latency)`
means what it says there.
"""

WEEKS = ["W27", "W28", "W29", "W30", "W31", "W32", "W33", "W34", "W35", "W36", "W37", "W38"]

SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 150" font-family="sans-serif">
<title>The path of a checkout request</title>
<desc>Browser, then edge, then checkout service, which calls the gateway and the database</desc>
<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"
orient="auto"><path d="M0 0L10 5L0 10z" fill="#444"/></marker></defs>
<g fill="#eef4fb" stroke="#0b5cad" stroke-width="1.5">
<rect x="10" y="50" width="110" height="46" rx="6"/>
<rect x="170" y="50" width="110" height="46" rx="6"/>
<rect x="330" y="50" width="120" height="46" rx="6"/>
<rect x="510" y="8" width="120" height="46" rx="6" stroke-dasharray="5 4"/>
<rect x="510" y="94" width="120" height="46" rx="6"/></g>
<g stroke="#444" stroke-width="1.5" fill="none" marker-end="url(#tip)">
<path d="M120 73H168"/><path d="M280 73H328"/>
<path d="M450 66L508 34"/><path d="M450 80L508 114"/></g>
<g font-size="15" text-anchor="middle" fill="#1b2026">
<text x="65" y="78">Browser</text><text x="225" y="78">Edge</text>
<text x="390" y="78">Checkout</text><text x="570" y="36">Gateway</text>
<text x="570" y="122">Database</text></g></svg>"""

CALLS: list[tuple[str, dict[str, Any]]] = [
    (
        "create_line_chart",
        {
            "id": "latency",
            "title": "Checkout latency by week, milliseconds",
            "labels": WEEKS,
            "series": [
                {
                    "name": "Median",
                    "values": [412, 418, 409, 421, 350, 281, 262, 259, 266, 255, 252, 249],
                },
                {
                    "name": "95th percentile",
                    "values": [890, 902, 871, 915, 830, 720, 655, 640, 690, 634, 622, 618],
                },
                {
                    "name": "99th percentile",
                    "values": [
                        1480,
                        1502,
                        1466,
                        1533,
                        1490,
                        1402,
                        1330,
                        1312,
                        1420,
                        1295,
                        1288,
                        1279,
                    ],
                },
            ],
        },
    ),
    (
        "create_pie_chart",
        {
            "id": "share",
            "title": "Share of request time after the change",
            "segments": [
                {"label": "Database", "value": 101},
                {"label": "Gateway", "value": 64},
                {"label": "Rendering", "value": 41},
                {"label": "Fraud check", "value": 28},
                {"label": "Everything else", "value": 15.5},
            ],
        },
    ),
    ("create_svg", {"svg": {"id": "path", "title": "The path of a request", "content": SVG}}),
    (
        "create_stacked_bar_chart",
        {
            "id": "cost",
            "title": "Monthly cost of payments, thousand euros",
            "labels": ["May", "Jun", "Jul", "Aug", "Sep"],
            "series": [
                {"name": "Old gateway", "values": [41, 41, 41, 6, 6]},
                {"name": "New gateway", "values": [0, 0, 4.5, 29, 24]},
                {"name": "Fraud check", "values": [8, 8.5, 9, 12, 10]},
            ],
        },
    ),
    (
        "create_table",
        {
            "table": {
                "kind": "table",
                "id": "regions",
                "title": "Median latency and abandoned carts by region",
                "columns": ["Region", "Before", "After", "Change", "Abandoned carts", "Migrated"],
                "rows": [
                    ["Western Europe", 398, 231, "−42 %", 0.183, True],
                    ["North America", 421, 249, "−41 %", 0.194, True],
                    ["Japan", 455, 262, "−42 %", 0.171, True],
                    ["South America", 610, 604, "−1 %", 0.262, False],
                    ["Australia", 502, 297, "−41 %", None, True],
                ],
            }
        },
    ),
    (
        "create_bar_chart",
        {
            "id": "regions",
            "title": "Median latency before and after, milliseconds",
            "orientation": "horizontal",
            "labels": ["Western Europe", "North America", "Japan", "South America", "Australia"],
            "series": [
                {"name": "Before", "values": [398, 421, 455, 610, 502]},
                {"name": "After", "values": [231, 249, 262, 604, 297]},
            ],
        },
    ),
    (
        "create_scatter_chart",
        {
            "id": "tail",
            "title": "Median against 99th percentile, by data centre",
            "series": [
                {
                    "name": "Old gateway",
                    "points": [
                        {"x": 398, "y": 1440, "label": "Dublin"},
                        {"x": 421, "y": 1510, "label": "Ashburn"},
                        {"x": 455, "y": 1490, "label": "Tokyo"},
                        {"x": 610, "y": 2105, "label": "São Paulo"},
                    ],
                },
                {
                    "name": "New gateway",
                    "points": [
                        {"x": 231, "y": 1210, "label": "Dublin"},
                        {"x": 249, "y": 1288, "label": "Ashburn"},
                        {"x": 262, "y": 1301, "label": "Tokyo"},
                        {"x": 297, "y": 1352, "label": "Sydney"},
                    ],
                },
            ],
        },
    ),
    (
        "create_area_chart",
        {
            "id": "volume",
            "title": "Checkouts per week",
            "labels": WEEKS,
            "series": [
                {
                    "name": "Checkouts",
                    "values": [
                        81200,
                        80400,
                        82900,
                        84100,
                        83300,
                        86700,
                        91800,
                        128400,
                        131900,
                        92200,
                        90100,
                        91000,
                    ],
                }
            ],
        },
    ),
    (
        "create_list",
        {
            "list": {
                "kind": "list",
                "id": "risks",
                "title": "Open risks, most urgent first",
                "ordered": True,
                "items": [
                    "The old contract renews itself on 31 December unless it is cancelled before.",
                    "São Paulo has no second route: when the old gateway fails, checkout fails.",
                    "The fraud check is now the slowest synchronous call after the database.",
                ],
            }
        },
    ),
    (
        "create_checklist",
        {
            "checklist": {
                "kind": "checklist",
                "id": "rollout",
                "title": "Before the next review",
                "items": [
                    {"id": "cancel", "label": "Cancel the old contract", "checked": True},
                    {
                        "id": "route",
                        "label": "Order the second route for São Paulo",
                        "checked": True,
                    },
                    {
                        "id": "fraud",
                        "label": "Measure the fraud check on its own",
                        "checked": False,
                    },
                    {"id": "alert", "label": "Move the alert from p95 to p99", "checked": False},
                ],
            }
        },
    ),
    (
        "create_file",
        {
            "name": "notes/queries.md",
            "content": "# Queries\n\n```sql\nselect week, percentile(0.5, latency_ms)\n"
            "from checkout where status = 'ok' group by week;\n```\n",
        },
    ),
]

Call = tuple[str, dict[str, Any]]


def report(
    narrative: str = NARRATIVE,
    calls: list[Call] | None = None,
    *,
    status: DeliverableStatus = "completed",
    title: str = "Checkout latency, third quarter",
    note: str = "",
) -> Report:
    """A report as a run would leave it: payloads loaded from arguments, findings examined."""
    refs, payloads = [], {}
    for tool, arguments in CALLS if calls is None else calls:
        kind, name, heading = catalog.identity(tool, arguments)
        refs.append(
            ArtifactRef(kind=kind, id=name, tool=tool, title=heading, payload=digest(arguments))
        )
        payloads[kind, name] = catalog.load(tool, arguments)
    examined = examine(narrative, tuple(refs))
    deliverable = Deliverable(
        status=status,
        narrative=examined.narrative,
        artifacts=tuple(refs),
        findings=examined.findings,
        note=note,
    )
    provenance = Provenance(
        run="run-20261121-7f3a",
        model="claude-sonnet-5",
        kind="deliver",
        created="2026-11-21T23:14:08Z",
        digest=digest(deliverable.to_json()),
        usage="6 turns, 18,402 tokens",
    )
    return Report(title, deliverable, payloads, provenance)
