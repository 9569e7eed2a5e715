"""A report of 12 charts and 8 tables as a page and as files, next to nbconvert doing the same.

Processor seconds. ``cold`` is a process that has imported nothing, ``warm`` the second time in one
process. nbconvert executes a notebook that draws as many charts with matplotlib and as many
tables, and writes it as HTML; where it is not installed, the column is empty.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from artificer.artifacts import catalog
from artificer.artifacts.deliverable import Deliverable
from artificer.artifacts.ref import ArtifactRef
from artificer.render.export.exported import Exported
from artificer.render.export.forms import ReportFormat, report_files
from artificer.render.report import Provenance, Report
from artificer.values.canon import digest
from measure import ENVIRONMENT, HERE, Row, Spent, main

CHARTS, TABLES = 12, 8
FORMS: tuple[ReportFormat, ...] = ("html", "md", "zip", "docx", "pdf")
NEEDS = {"docx": "docx", "pdf": "weasyprint"}
CELL = """
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.{draw}({values}, {values})
axes.set_title("Chart {n}")
plt.show()
"""
TABLE = """
from IPython.display import HTML, display
display(HTML("<table>" + "".join("<tr>" + "".join(f"<td>{{r * c}}</td>" for c in range(6)) + "</tr>"
                                 for r in range(20)) + "</table>"))
"""


def sample() -> Exported:
    """The report: no chart is like another, so that none comes from a cache by accident."""
    made = [*map(chart, range(CHARTS)), *map(table, range(TABLES))]
    refs, artifacts, payloads = [], {}, {}
    for tool, arguments in made:
        kind, name, title = catalog.identity(tool, arguments)
        refs.append(
            ArtifactRef(kind=kind, id=name, tool=tool, title=title, payload=digest(arguments))
        )
        artifacts[kind, name] = catalog.load(tool, arguments)
        payloads[kind, name] = arguments
    cited = "\n\n".join(f"{{{{artifact:{ref.kind}:{ref.id}}}}}" for ref in refs)
    deliverable = Deliverable(
        status="completed", narrative=f"# Report\n\n{cited}\n", artifacts=tuple(refs)
    )
    report = Report("Report", deliverable, artifacts, Provenance(run="bench"))
    return Exported(report, payloads)


def chart(n: int) -> tuple[str, dict[str, Any]]:
    tool = ("bar", "line", "area", "stacked_bar")[n % 4]
    series = [{"name": f"S{s}", "values": [n + s + v * 1.5 for v in range(12)]} for s in range(3)]
    labels = [f"M{month}" for month in range(12)]
    title = f"Chart {n}"
    return f"create_{tool}_chart", {
        "id": f"c{n}",
        "title": title,
        "labels": labels,
        "series": series,
    }


def table(n: int) -> tuple[str, dict[str, Any]]:
    rows = [[f"Row {r}", *(r * c + n + 0.5 for c in range(5))] for r in range(20)]
    columns = ["Name", *(f"Column {c}" for c in range(5))]
    return "create_table", {
        "table": {
            "kind": "table",
            "id": f"t{n}",
            "title": f"Table {n}",
            "columns": columns,
            "rows": rows,
        }
    }


def cpu_of(command: list[str]) -> float:
    """The processor seconds of a process with all that it started."""
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def warm(form: ReportFormat) -> float:
    """The processor seconds of the second time."""
    source = sample()
    report_files(source, form, "report")
    start = Spent.now()
    report_files(sample(), form, "report")
    return Spent.now().since(start).cpu


def notebook() -> float | None:
    """The processor seconds of nbconvert, from nothing; None where it is not installed."""
    wanted = ("nbconvert", "ipykernel", "matplotlib")
    if not all(importlib.util.find_spec(name) for name in wanted):
        return None
    values = list(range(12))
    sources = [CELL.format(draw=("bar", "plot")[n % 2], values=values, n=n) for n in range(CHARTS)]
    sources += [TABLE.format()] * TABLES
    cells = [
        {"cell_type": "code", "source": s, "metadata": {}, "outputs": [], "execution_count": None}
        for s in sources
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.ipynb"
        path.write_text(
            json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}),
            "utf-8",
        )
        words = [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", str(path)]
        return cpu_of(words)


def rows() -> Iterator[Row]:
    """Every form, cold and warm."""
    floor = notebook()
    for form in FORMS:
        if form in NEEDS and importlib.util.find_spec(NEEDS[form]) is None:
            continue
        is_page = form == "html"
        cold = cpu_of([sys.executable, str(HERE / "report.py"), "--cold", form])
        page = floor if is_page else None
        yield Row(f"report as {form}, cold", "CPU s", cold, page, "< 1" * is_page)
        yield Row(f"report as {form}, warm", "CPU s", warm(form), None, "< 0.1" * is_page)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--cold"]:
        report_files(sample(), sys.argv[2], "report")  # type: ignore[arg-type]
    else:
        main(rows)
