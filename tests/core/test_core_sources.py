"""The labels of results: numbered by tool, at a cost that does not grow with the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from artificer.contracts.definition import ToolDefinition, Toolset, toolset
from artificer.core.sources import CallSource, labels_of
from artificer.core.spec import RunSpec
from artificer.core.verdict import Verdict
from artificer.values.base import JsonObject

DATA: JsonObject = {"type": "object", "properties": {"call": {"type": "string"}}}
CHART = ToolDefinition(
    name="chart",
    description="Draw.",
    input_schema={"type": "object", "properties": {"data": DATA}},
    effect="pure",
    backend="artifact",
)
TOOLS = [
    ToolDefinition(name=name, description="Read.", input_schema={"type": "object"}, effect="pure")
    for name in ("disks", "odd-1", "seldom")
]
SPEC = RunSpec(
    kind="deliver",
    prompt="x",
    provider="p",
    model="m",
    toolset=toolset((CHART, *TOOLS)).to_text(),
    rules=4,
)


class Looked(Sequence[CallSource]):
    """Sources that count how many of them were looked at."""

    def __init__(self, sources: Sequence[CallSource]) -> None:
        self.sources, self.looked = sources, 0

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: Any) -> Any:
        self.looked += 1
        return self.sources[index]


def verdict(tool: str, word: Any = "allow") -> Verdict:
    return Verdict(call_id="c", tool=tool, verdict=word)


def sources(*labels: str) -> list[CallSource]:
    return [
        CallSource(label=label, tool=label.rpartition("#")[0], call_id="c", status="ok")
        for label in labels
    ]


@pytest.mark.req("labels-of-results")
class TestLabels:
    def test_each_tool_counts_its_own_calls_in_call_order(self) -> None:
        counts: Counter[str] = Counter()
        made: list[CallSource] = []
        for turn in range(1, 30):
            tools = [tool.name for tool in TOOLS if turn % len(tool.name) < 3] * 2
            expected = []
            for tool in tools:
                counts[tool] += 1
                expected.append(f"{tool}#{counts[tool]}")
            assert list(labels_of(SPEC, made, [verdict(tool) for tool in tools])) == expected
            made += sources(*expected)

    def test_what_does_not_run_and_what_makes_artifacts_has_none(self) -> None:
        verdicts = [verdict("disks", "denied"), verdict("chart"), verdict("gone"), verdict("disks")]
        assert labels_of(SPEC, sources("disks#7"), verdicts) == ("", "", "", "disks#8")

    def test_a_long_run_is_not_looked_through_at_every_turn(self) -> None:
        long = Looked(sources("seldom#1", *(f"disks#{n}" for n in range(1, 10_001))))
        assert labels_of(SPEC, long, [verdict("disks")] * 3) == (
            "disks#10001",
            "disks#10002",
            "disks#10003",
        )
        assert long.looked == 1


@pytest.mark.req("gate-total")
def test_of_two_tools_with_one_name_every_part_takes_the_first() -> None:
    """Only a journal of somebody else's has two: `toolset` refuses them."""
    first, other = TOOLS[0], TOOLS[0].replace(effect="once")
    spec = SPEC.replace(toolset=Toolset(tools=(first, other)).to_text())
    assert spec.tool("disks") == spec.tools().get("disks") == first
    assert spec.tool("none") is None
