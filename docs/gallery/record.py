"""Record the runs of the gallery again: ``python docs/gallery/record.py [--scripts]``.

A recording made again has other ids and times, so this is done on purpose only. ``make gallery``
draws the pages of the recordings that are here.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from artificer import Agent, World, tool
from artificer.providers.scripted import ScriptedProvider, call, reply, say

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "tests" / "render"))

import render_rich  # noqa: E402  # the same report is what the tests of the page read

ORCHARD = [
    ("2026-05-30", "Cherry", "North", 312.5, 41),
    ("2026-06-13", "Cherry", "South", 498.25, 63),
    ("2026-06-27", "Cherry", "North", 205, 30),
    ("2026-07-18", "Apricot", "South", 644.75, 72),
    ("2026-08-01", "Plum", "North", 389.5, 55),
    ("2026-08-15", "Plum", "South", 512, 58),
    ("2026-09-05", "Pear", "North", 731.25, 80),
    ("2026-09-19", "Apple", "North", 1480.5, 151),
    ("2026-10-03", "Apple", "South", 1622.75, 160),
    ("2026-10-17", "Quince", "South", 141, 22),
]
NARRATIVE = """\
# The harvest of the orchard, 2026

The ten picking days brought in {{artifact:value:total}} of fruit. A script wrote these words, in
the place of a model. Every number of a figure was taken from the log of the orchard by the
program: the script named the rows and the operations.[^1]

{{artifact:chart:fruit}}

The autumn months carry the year:

{{artifact:chart:months}}

{{artifact:chart:effort}}

## The picking days

{{artifact:table:log}}

[^1]: The line below each figure names the result that its numbers come from, and what was done to
    them. `artificer verify` computes them again.
"""


@tool(effect="pure")
def harvest() -> dict[str, object]:
    """Return the picking log of the orchard: date, fruit, field, kilograms and hours."""
    names = ("date", "fruit", "field", "kilograms", "hours")
    return {"days": [dict(zip(names, day, strict=True)) for day in ORCHARD]}


def bound() -> Agent[str]:
    """Return an agent whose script binds each figure to the result of the tool."""
    days = {"call": "harvest#1", "rows": "/days"}
    sums = [{"calculate": "sum", "column": "kilograms", "name": "Kilograms"}]
    by_fruit = {
        **days,
        "group": {"by": "fruit", "values": sums},
        "sort": [{"by": "Kilograms", "descending": True}],
        "label": "fruit",
        "values": ["Kilograms"],
    }
    by_month = {
        **days,
        "group": {"by": "date", "date": "month", "values": sums},
        "label": "date",
        "values": ["Kilograms"],
    }
    points = {**days, "label": "fruit", "values": ["hours", "kilograms"]}
    names = ["date", "fruit", "field", "kilograms", "hours"]
    log = {**days, "values": names}
    total = {**days, "calculate": "sum", "column": "kilograms"}
    figures = reply(
        call(
            "create_bar_chart",
            id="fruit",
            title="Harvest by fruit",
            unit="kg",
            orientation="horizontal",
            data=by_fruit,
        ),
        call(
            "create_line_chart",
            id="months",
            title="Harvest by month",
            unit="kg",
            time=True,
            data=by_month,
        ),
        call(
            "create_scatter_chart",
            id="effort",
            title="Hours of work and fruit picked",
            x_title="Hours",
            y_title="Kilograms",
            data=points,
        ),
        call(
            "create_table",
            table={"kind": "table", "id": "log", "title": "All days", "data": log},
        ),
        call("create_value", id="total", data=total, format={"style": "grouped", "suffix": " kg"}),
    )
    script = ScriptedProvider([reply(call("harvest")), figures, say(NARRATIVE)])
    return Agent(model=script, tools=[harvest], kind="deliver")


def rich() -> Agent[str]:
    """Return an agent whose script makes 12 charts, 8 tables, and one of everything else."""
    calls = [call(name, **arguments) for name, arguments in render_rich.CALLS]
    script = ScriptedProvider([reply(*calls), say(render_rich.NARRATIVE)])
    return Agent(model=script, kind="deliver")


async def recorded(agent: Agent[str], prompt: str) -> bytes:
    """Return the recording of a run."""
    async with World.in_memory() as world:
        run = await agent.run(prompt, world=world)
        if run.status != "completed":
            raise SystemExit(f"The run is {run.status}: {run.error or run.deliverable}")
        return await world.archive.export_run(run.id)


def embedded(file: Path) -> None:
    """Record a report by the embedded model, whose words are its own."""
    with tempfile.TemporaryDirectory() as folder:
        artificer = [sys.executable, "-m", "artificer"]
        prompt = "People on our hike: 12 children, 30 adults and 8 seniors."
        words = ["--model", "local/smollm2", "--system", "You write short reports."]
        forced = ("create_pie_chart", "create_checklist", "none")
        choices = [word for name in forced for word in ("--choice", name)]
        out = ["--out", str(Path(folder) / "report")]
        subprocess.run([*artificer, "run", prompt, *words, *choices, *out], check=True)
        subprocess.run([*artificer, "export", "last", "--out", str(file)], check=True)


def main() -> None:
    """Record the three runs."""
    prompt = "Report on this year's harvest, and take every number from the log."
    (HERE / "bound.run.gz").write_bytes(asyncio.run(recorded(bound(), prompt)))
    prompt = "Show everything that a report can hold."
    (HERE / "rich.run.gz").write_bytes(asyncio.run(recorded(rich(), prompt)))
    if "--scripts" in sys.argv:
        return
    embedded(HERE / "embedded.run.gz")


if __name__ == "__main__":
    main()
