"""``artificer show --tree``: a run with all runs that it started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from artificer.archive import Archive
from artificer.cli.terminal.console import one_line, out
from artificer.cli.terminal.words import cost, count, joined, sum_of, tokens
from artificer.runs import Run
from artificer.runtime.builds.tree import BuildNode
from artificer.runtime.family import ChildNode

OF_BUILD = ("STEP", "ATTEMPT", "RUN", "STATUS", "RESULT", "TURNS", "TOKENS")
OF_AGENTS = ("AGENT", "RUN", "STATUS", "TURNS", "TOKENS", "COST")
DETAIL_WIDTH = 160
"""Characters that are shown of a line of a report."""

Cells = tuple[str, ...]


@dataclass(frozen=True)
class Tree:
    """A run and the runs below it: a build's or those of agents."""

    run: Run
    columns: Cells
    rows: Sequence[Cells]
    details: Sequence[str]
    nodes: Sequence[BuildNode | ChildNode]

    def as_json(self) -> list[dict[str, object]]:
        """The runs below it."""
        return [{**structs.asdict(node), "usage": node.usage.to_json()} for node in self.nodes]

    def to_json(self) -> dict[str, object]:
        """The runs as one JSON object."""
        return {
            "run": self.run.id,
            "kind": self.run.state.run_spec.kind,
            "status": self.run.status,
            "runs": self.as_json(),
        }

    def print(self) -> None:
        """Print the run, and below it the runs that it started."""
        state = self.run.state
        spent = joined(count(len(self.rows), "run"), tokens(state.usage), cost(state.cost_micros))
        out(joined(f"{state.run_spec.kind} {self.run.id}", self.run.status, spent), "strong")
        if not self.rows:
            return
        rows = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row, detail in zip(rows, ["", *self.details], strict=True):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            out("  ".join(cells).rstrip())
            for line in detail.splitlines():
                out(f"      {one_line(line, DETAIL_WIDTH)}")


async def tree_of(archive: Archive, run: Run) -> Tree:
    """Return a run with all runs below it. Raises TamperedError."""
    if run.state.build is not None:
        nodes = await archive.tree(run.id)
        details = [node.detail if _has_detail(node) else "" for node in nodes]
        rows = [_row_of_build(run.id, node) for node in nodes]
        return Tree(run, OF_BUILD, rows, details, nodes)
    children = await archive.children(run.id)
    rows = [_row_of_agent(run.id, node) for node in children]
    return Tree(run, OF_AGENTS, rows, [""] * len(rows), children)


def _row_of_build(build: str, node: BuildNode) -> Cells:
    purpose = "" if node.purpose == "draft" else f" ({node.purpose})"
    return (
        "  " * node.depth + node.step.replace("/", " ") + purpose,
        str(node.attempt),
        node.run.removeprefix(build),
        node.status,
        joined(node.came_to, node.checked) or "…",
        str(node.turns),
        sum_of(node.usage),
    )


def _row_of_agent(run: str, node: ChildNode) -> Cells:
    return (
        "  " * node.depth + node.tool,
        node.run.removeprefix(run),
        node.status,
        str(node.turns),
        sum_of(node.usage),
        cost(node.cost_micros),
    )


def _has_detail(node: BuildNode) -> bool:
    return node.came_to != "made" or node.passed is False or "consent" in node.checked
