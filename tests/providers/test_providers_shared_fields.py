"""Runs of a process share the fields of equal requests."""

from __future__ import annotations

import pytest

from artificer.contracts.definition import ModelRequest, ToolDefinition
from artificer.ports import Memo
from artificer.values.base import JsonObject
from artificer.values.canon import canonical
from artificer.values.model import ToolChoice


def request_with(default: bool | int) -> ModelRequest:
    schema: JsonObject = {"type": "object", "properties": {"a": {"default": default}}}
    tool = ToolDefinition(name="t", description="d", input_schema=schema)
    choice = ToolChoice()
    return ModelRequest(model="m", system="s", tools=(tool,), tool_choice=choice, max_tokens=10)


def body(request: ModelRequest) -> JsonObject:
    return {"model": request.model, "tools": [tool.to_json() for tool in request.tools]}


@pytest.mark.req("shared-request-fields")
def test_equal_requests_of_two_runs_have_one_object() -> None:
    dialect, request = object(), request_with(1)
    found = Memo().fields(request, body, dialect)
    assert Memo().fields(request.replace(), body, dialect) is found
    assert Memo().fields(request.replace(), body, object()) is not found, "another dialect"
    assert Memo().fields(request.replace(max_tokens=11), body, dialect) is not found
    assert Memo().fields(request.replace(), body) is not found, "not to be shared"


@pytest.mark.req("shared-request-fields")
def test_schemas_that_differ_in_json_alone_are_told_apart() -> None:
    """For Python 1 equals true, and these requests are equal."""
    dialect, one, true = object(), request_with(1), request_with(True)
    assert one == true
    assert b'"default":1' in canonical(Memo().fields(one, body, dialect))
    assert b'"default":true' in canonical(Memo().fields(true, body, dialect))
