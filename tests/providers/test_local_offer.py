"""Schemas for the embedded model: narrow, bounded, and inside what the tool accepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from artificer.artifacts import phase, plan
from artificer.artifacts.placeholder import find
from artificer.backends.artifact.offered import tools
from artificer.contracts.definition import ModelRequest, ToolDefinition
from artificer.contracts.schema import compile_schema
from artificer.ports import Memo
from artificer.providers.local import MAX_TOKENS, Local
from artificer.providers.local_offer import MAX_ITEMS, MAX_STRING, WORD, offered
from artificer.providers.local_text import closing_grammar
from artificer.values.blocks import CallStatus, Message, TextBlock, ToolResultBlock, user
from artificer.values.canon import canonical
from artificer.values.model import ToolChoice

KNOWN = {
    "type",
    "const",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
}


def a_tool(schema: dict[str, Any]) -> ToolDefinition:
    return ToolDefinition(name="t", description="Does it. At length.", input_schema=schema)


def unbounded(schema: dict[str, Any]) -> list[str]:
    """Return the places of a schema without a bound, or with a keyword unknown to llama.cpp."""
    faults = sorted(set(schema) - KNOWN)
    if "const" in schema or "enum" in schema:
        return faults
    match schema["type"]:
        case "object":
            faults += [] if schema["additionalProperties"] is False else ["open object"]
            for member in schema["properties"].values():
                faults += unbounded(member)
        case "array":
            faults += [] if "maxItems" in schema else ["array"]
            faults += unbounded(schema["items"])
        case "string":
            faults += [] if {"pattern", "maxLength"} & set(schema) else ["string"]
    return faults


def value_of(schema: dict[str, Any], *, most: bool) -> Any:
    """The smallest or the largest value that an offered schema allows."""
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema["type"] == "object":
        return {k: value_of(v, most=most) for k, v in schema["properties"].items()}
    if schema["type"] == "array":
        count = schema["maxItems" if most else "minItems"]
        return [value_of(schema["items"], most=most)] * count
    if "pattern" in schema:
        return "a" + "-z" * 7 + "9" if most else "a1"
    if schema["type"] == "string":
        return "x" * schema["maxLength" if most else "minLength"]
    return most if schema["type"] == "boolean" else schema.get("minimum", 0)


# The pattern of a file's name has groups, which the offer leaves to the gate.
@pytest.mark.req("local-offer")
@pytest.mark.parametrize("tool", tools()[1:], ids=lambda tool: tool.name)
def test_the_artifact_tools_are_offered_bounded_and_within_their_own_schema(
    tool: ToolDefinition,
) -> None:
    narrow = offered(tool).input_schema
    assert unbounded(narrow) == []
    for most in (False, True):
        made = value_of(narrow, most=most)
        assert compile_schema(tool.input_schema).problems(made) == ()


@pytest.mark.req("local-offer")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {}}}},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^[z-a]$"}}},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^[a-z]+$"}}},
        {"type": "object", "properties": {"a": {"type": ["null", "string"], "format": "email"}}},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "string"}]}}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"$ref": "https://example.org/x"}}},
        {"type": "object", "properties": {"a": True}, "required": ["a", "gone"]},
        {"type": "object", "patternProperties": {"x": {}}, "minProperties": 2},
    ],
    ids=lambda schema: json.dumps(schema)[30:80],
)
def test_any_schema_is_offered_bounded(schema: dict[str, Any]) -> None:
    assert unbounded(offered(a_tool(schema)).input_schema) == []


@pytest.mark.req("local-offer")
def test_bounds_are_ours_unless_the_tool_is_stricter() -> None:
    text, short = {"type": "string"}, {"type": "string", "maxLength": 3}
    schema = {"type": "object", "properties": {"a": text, "b": short, "c": {"type": "array"}}}
    members: Any = offered(a_tool(schema)).input_schema["properties"]
    assert members["a"]["maxLength"] == MAX_STRING
    assert members["b"]["maxLength"] == 3
    assert members["c"]["maxItems"] == MAX_ITEMS


@pytest.mark.req("local-offer")
def test_a_pattern_that_no_grammar_holds_is_offered_as_words_where_it_takes_them() -> None:
    members: Any = offered(plan.tool()).input_schema["properties"]
    spec = members["specs"]["items"]["properties"]
    assert spec["name"]["pattern"] == WORD
    command: Any = offered(phase.tool()).input_schema["properties"]["validation_command"]
    assert command["maxLength"] == MAX_STRING and "pattern" not in command


@pytest.mark.req("local-offer")
@pytest.mark.parametrize("tool", tools(), ids=lambda tool: tool.name)
def test_a_stored_tool_is_offered_as_the_written_one(tool: ToolDefinition) -> None:
    stored = tool.replace(input_schema=json.loads(canonical(tool.input_schema)))
    assert json.dumps(offered(stored).input_schema) == json.dumps(offered(tool).input_schema)


# --- the request ------------------------------------------------------------------------------


def prepared(choice: ToolChoice, messages: list[Message] | None = None) -> dict[str, Any]:
    request = ModelRequest(
        model="smollm2", system="S", tools=tools(), tool_choice=choice, max_tokens=100_000
    )
    local = Local(Path("never-read.gguf"))
    return local.prepare(request, messages or [user("hello")], Memo()).body


@pytest.mark.req("local-choice")
def test_a_demanded_tool_is_the_only_one_offered() -> None:
    body = prepared(ToolChoice(mode="tool", name="create_list"))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["create_list"]
    assert body["tool_choice"] == "required"
    assert body["chat_template_kwargs"] == {"opening": "call"}


@pytest.mark.req("local-choice")
def test_no_tools_are_offered_where_none_may_be_called() -> None:
    body = prepared(ToolChoice(mode="none"))
    assert "tools" not in body
    assert body["chat_template_kwargs"] == {"opening": "text"}


@pytest.mark.req("local-choice")
def test_a_reply_is_short_and_repeatable_whatever_was_asked_for() -> None:
    body = prepared(ToolChoice(mode="required"))
    assert body["max_tokens"] == MAX_TOKENS
    assert body["temperature"] == 0
    assert body["cache_prompt"] is False


def results(*contents: tuple[CallStatus, str]) -> list[Message]:
    blocks = tuple(
        ToolResultBlock(tool_use_id=str(n), status=status, content=content)
        for n, (status, content) in enumerate(contents)
    )
    return [user("go"), Message(role="user", blocks=blocks)]


@pytest.mark.req("local-closing")
def test_the_closing_text_is_asked_to_cite_what_was_made_and_only_that() -> None:
    messages = results(
        ("ok", "Cite it as {{artifact:chart:a}}."),
        ("invalid", "no such {{artifact:chart:b}}"),
        ("ok", "Cite it as {{artifact:list:c}}."),
        ("ok", "Again {{artifact:chart:a}}."),
    )
    grammar = prepared(ToolChoice(mode="none"), messages)["grammar"]
    assert [cited.subject for cited in find(grammar)] == ["chart:a", "list:c"]


@pytest.mark.req("local-closing")
def test_a_text_with_nothing_to_cite_is_free() -> None:
    said = Message(role="assistant", blocks=(TextBlock(text="{{artifact:chart:a}}"),))
    assert closing_grammar([user("{{artifact:chart:a}}"), said]) is None
    assert "grammar" not in prepared(ToolChoice(mode="none"), results(("ok", "3")))
