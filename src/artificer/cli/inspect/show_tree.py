"""``artificer show --tree``: a build with all its runs."""

from __future__ import annotations

from dataclasses import asdict

from artificer.cli.terminal.console import one_line, out
from artificer.cli.terminal.words import cost, count, joined, tokens
from artificer.runs import Run
from artificer.runtime.builds.tree import BuildNode

COLUMNS = ("STEP", "ATTEMPT", "RUN", "STATUS", "RESULT", "TURNS", "TOKENS")
DETAIL_WIDTH = 160
"""Characters that are shown of a line of a report."""


def tree_as_json(run: Run, nodes: list[BuildNode]) -> dict[str, object]:
    """A build and its runs as one JSON object."""
    return {
        "run": run.id,
        "kind": run.state.run_spec.kind,
        "status": run.status,
        "runs": [{**asdict(node), "usage": node.usage.to_json()} for node in nodes],
    }


def print_tree(run: Run, nodes: list[BuildNode]) -> None:
    """Print a run, and below it the runs that it started."""
    state = run.state
    spent = joined(count(len(nodes), "run"), tokens(state.usage), cost(state.cost_micros))
    out(joined(f"{state.run_spec.kind} {run.id}", run.status, spent), "strong")
    if not nodes:
        return
    rows = [COLUMNS, *(_row(run.id, node) for node in nodes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    details = ["", *(node.detail if _has_detail(node) else "" for node in nodes)]
    for row, detail in zip(rows, details, strict=True):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out("  ".join(cells).rstrip())
        for line in detail.splitlines():
            out(f"      {one_line(line, DETAIL_WIDTH)}")


def _row(build: str, node: BuildNode) -> tuple[str, ...]:
    purpose = "" if node.purpose == "draft" else f" ({node.purpose})"
    result = joined(node.came_to, node.checked) or "…"
    used = f"{node.usage.input_tokens + node.usage.output_tokens:,}"
    return (
        "  " * node.depth + node.step.replace("/", " ") + purpose,
        str(node.attempt),
        node.run.removeprefix(build),
        node.status,
        result,
        str(node.turns),
        used,
    )


def _has_detail(node: BuildNode) -> bool:
    return node.came_to != "made" or node.passed is False or "consent" in node.checked
