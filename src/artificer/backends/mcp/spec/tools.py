"""Tools of other MCP servers: what they say of themselves is hostile input until it is bounded."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping

from artificer.contracts.definition import EffectClass, Risk, ToolDefinition, Trust
from artificer.contracts.schema import compile_schema
from artificer.contracts.schema_cost import is_costlier
from artificer.errors import ToolDefinitionError
from artificer.values.base import JsonObject, JsonValue, Text, Value
from artificer.values.canon import canonical
from artificer.values.text import clip

MAX_TOOLS = 256
"""Tools of one server: more would not fit into a model's context."""

MAX_DESCRIPTION = 2_000
MAX_FIELD_DESCRIPTION = 500
MAX_SCHEMA = 64_000
"""Bytes of a schema in canonical form."""

MAX_SUBSCHEMAS = 100_000
"""Subschemas of a schema with every reference followed: to check a value takes seconds at most."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_MAX_NAME = 64
_DATA = ("enum", "const", "default", "examples")
"""Keywords whose values are data, not schemas: nothing in them is a description."""


class RemoteFacts(Value):
    """A tool as a server lists it."""

    name: Text
    description: Text = ""
    input_schema: dict[str, JsonValue]
    output_schema: dict[str, JsonValue] | None = None


class McpContract(Value):
    """The contract of a server's tools, by the operator: a server's own hints are not believed."""

    effect: EffectClass = "once"
    risk: Risk = "low"
    human_approval: bool = False
    trust: Trust = "untrusted"
    sensitive: bool = False
    timeout_ms: int = 60_000


class RemoteTool(Value):
    """A server's tool as one of ours, and the name by which the server knows it."""

    remote: str
    definition: ToolDefinition
    output_schema: dict[str, JsonValue] | None = None


def adopt(server: str, facts: RemoteFacts, contract: McpContract) -> RemoteTool:
    """Make a server's tool one of ours, called ``SERVER.TOOL``.

    Raises:
        ToolDefinitionError: its schema is too large, or none that arguments can be held to.
    """
    schema = _bounded(facts.input_schema)
    if schema.setdefault("type", "object") != "object":
        raise ToolDefinitionError("Its arguments are not an object.")
    schema.setdefault("properties", {})
    _compile(schema)
    output = None if facts.output_schema is None else _bounded(facts.output_schema)
    if output is not None:
        _compile(output)
    words = clip(readable(facts.description) or "no description", MAX_DESCRIPTION)
    definition = ToolDefinition(
        name=_name(server, facts.name),
        description=f"(A tool of the MCP server {server!r}, which says of it:) {words}",
        input_schema=schema,
        effect=contract.effect,
        risk=contract.risk,
        human_approval=contract.human_approval,
        timeout_ms=contract.timeout_ms,
        backend="mcp",
        trust=contract.trust,
        sensitive=contract.sensitive,
        origin=f"mcp:{server}",
    )
    return RemoteTool(remote=facts.name, definition=definition, output_schema=output)


def readable(text: str) -> str:
    """The text without what people cannot see and models can: control and format characters."""
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c)[0] != "C").strip()


def _name(server: str, tool: str) -> str:
    full = f"{server}.{tool}"
    name = _UNSAFE.sub("_", full)
    if name == full and len(name) <= _MAX_NAME:
        return name
    digest = hashlib.sha256(full.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{name[: _MAX_NAME - 9]}_{digest}"


def _bounded(schema: Mapping[str, JsonValue]) -> JsonObject:
    cleaned = {k: _cleaned(k, v) for k, v in schema.items() if k != "$schema"}
    size = len(canonical(cleaned))
    if size > MAX_SCHEMA:
        raise ToolDefinitionError(f"Its schema has {size} bytes; {MAX_SCHEMA} are allowed.")
    return cleaned


def _compile(schema: JsonObject) -> None:
    compile_schema(schema)
    if is_costlier(schema, MAX_SUBSCHEMAS):
        raise ToolDefinitionError(
            f"Its schema has more than {MAX_SUBSCHEMAS:,} subschemas with its references followed."
        )


def _cleaned(key: str, value: JsonValue) -> JsonValue:
    """A schema's part with its descriptions readable and short."""
    if key in _DATA:
        return value
    if isinstance(value, str):
        return clip(readable(value), MAX_FIELD_DESCRIPTION) if key == "description" else value
    if isinstance(value, list):
        return [_cleaned("", item) for item in value]
    if isinstance(value, dict):
        return {name: _cleaned(name, member) for name, member in value.items()}
    return value
