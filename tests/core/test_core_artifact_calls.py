"""Calls that make artifacts, at the gate: all their problems at once, and in which order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from artificer.artifacts.ref import ArtifactRef
from artificer.backends.artifact import offered
from artificer.contracts.definition import Toolset, toolset
from artificer.core.gate import judge
from artificer.core.policy import Occasion, Policy
from artificer.core.verdict import Verdict
from artificer.values.blocks import Message, ToolResultBlock, ToolUseBlock

TOOLS = toolset(offered.report_tools(binding=True))
DATA = b'{"rows": [{"name": "a", "size": 1}, {"name": "' + b"x" * 700 + b'", "size": 2}]}'
MADE = ArtifactRef(
    kind="chart", id="a", tool="create_bar_chart", title="", payload="sha256:" + "0" * 64
)
EXISTS = ("/id", "a chart with this id exists: choose another, or set replace: true")


def judged(arguments: dict[str, Any], *history: Message) -> Verdict:
    """Return the verdict of a call that makes the chart ``a``, which exists."""
    return judged_by(TOOLS, arguments, *history)


def judged_by(tools: Toolset, arguments: dict[str, Any], *history: Message) -> Verdict:
    """Return the verdict of a call of the tool ``create_bar_chart`` among these tools."""
    call = ToolUseBlock(id="2", name="create_bar_chart", arguments=json.dumps(arguments))
    occasion = Occasion(history=history, labels=("du#1",), sources={"du#1": DATA})
    (verdict,) = judge(
        (call,),
        toolset=tools,
        policy=Policy(),
        made=(MADE,),
        limit=1,
        stop="tool_use",
        occasion=occasion,
    )
    return verdict


def bound(**data: Any) -> dict[str, Any]:
    return {"id": "a", "data": {"call": "du#1", "rows": "/rows", "label": "name", **data}}


@pytest.mark.req("artifact-all-problems", "binding-refused")
@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        (
            {"id": "a", "labels": ["x"], "series": [{"name": "s", "values": [1, 2]}], "odd": 1},
            [
                ("/odd", "is not a known parameter"),
                EXISTS,
                ("/series/0/values", "must have exactly one value for each label"),
            ],
        ),
        ({"id": "a"}, [("/labels", "is required"), ("/series", "is required"), EXISTS]),
        (
            bound(values=["weight"]),
            [("/data/values/0/column", "is not a column. Columns: name, size"), EXISTS],
        ),
        (
            bound(values=["size"]),
            [("/data", "gives /labels/1, which has too many characters"), EXISTS],
        ),
    ],
    ids=["typed", "neither typed nor bound", "bound to nothing", "bound to too much"],
)
def test_the_problems_of_the_form_come_before_those_of_the_kind(
    arguments: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    verdict = judged(arguments)
    assert verdict.verdict == "invalid"
    assert [(found.pointer, found.message) for found in verdict.problems] == problems


@pytest.mark.req("artifact-all-problems")
@pytest.mark.parametrize("payload", ["data", ["data"], 1, None])
def test_a_payload_of_another_type_is_one_problem(payload: object) -> None:
    call = ToolUseBlock(id="1", name="create_table", arguments=json.dumps({"table": payload}))
    (verdict,) = judge((call,), toolset=TOOLS, policy=Policy(), made=(), limit=1, stop="tool_use")
    assert [found.pointer for found in verdict.problems] == ["/table"]


def refused(arguments: dict[str, Any]) -> tuple[Message, ...]:
    """Return a conversation in which the call was refused, and is made again."""
    call = ToolUseBlock(id="1", name="create_bar_chart", arguments=json.dumps(arguments))
    refusal = ToolResultBlock(tool_use_id="1", status="invalid", content="Not run.")
    return (
        Message(role="assistant", blocks=(call,)),
        Message(role="user", blocks=(refusal,)),
        Message(role="assistant", blocks=(call.replace(id="2"),)),
    )


@pytest.mark.req("binding-refused")
def test_a_call_that_is_refused_again_is_told_what_its_data_means() -> None:
    """The members of ``data`` are offered to the model without descriptions."""
    arguments = bound(values=["size"], call="du#2")
    first = judged(arguments).content
    second = json.loads(judged(arguments, *refused(arguments)).content)["detail"]
    assert "refused before" not in first
    assert "The same call was refused before." in second
    assert "/data/call: The result's label, as it was shown: disk_usage#2." in second.split("\n")


@pytest.mark.req("binding-refused")
def test_a_tool_of_another_backend_is_described_by_its_own_schema_whatever_its_name() -> None:
    day = {"type": "string", "description": "A day of the week."}
    members = {"call": day, "at": {"type": "integer"}}
    data = {"type": "object", "properties": members, "required": ["at"]}
    schema: Any = {"type": "object", "properties": {"data": data}}
    (chart,) = (tool for tool in TOOLS.tools if tool.name == "create_bar_chart")
    tools = toolset((chart.replace(backend="mcp", input_schema=schema),))
    arguments = {"data": {"call": 1}}
    verdict = judged_by(tools, arguments, *refused(arguments))
    said = json.loads(verdict.content)["detail"].split("\n")
    assert [found.pointer for found in verdict.problems] == ["/data/at", "/data/call"]
    assert said[-1] == "/data/call: A day of the week."
