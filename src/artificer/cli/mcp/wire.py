"""Tools and their results as an MCP client sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from artificer.agent_definition import AgentKind
from artificer.cli.mcp.apps import APP
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.schema import compile_schema
from artificer.ports import Executor
from artificer.runs import Run
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolResultBlock
from artificer.values.strict_json import parse_object

if TYPE_CHECKING:
    from mcp.types import CallToolResult, Tool

MAX_MESSAGE = 8 * 1024 * 1024
"""Bytes of one message. A client that writes a longer one to stdin is not answered any more."""

RUN_KEY = "artificer/run"
"""Where a result names its run, in ``_meta``."""


@dataclass(frozen=True)
class Served:
    """A tool as it is served: its executor, the kind of its runs, and its result."""

    definition: ToolDefinition
    executor: Executor
    kind: AgentKind
    output_schema: JsonObject | None


def listed(served: Served) -> Tool:
    from mcp.types import Tool, ToolAnnotations

    definition = served.definition
    return Tool(
        name=definition.name,
        description=definition.description,
        input_schema=definition.input_schema,
        output_schema=served.output_schema,
        annotations=ToolAnnotations(
            read_only_hint=definition.effect == "pure",
            idempotent_hint=definition.effect in ("pure", "idempotent"),
        ),
        _meta={"ui": {"resourceUri": APP}} if served.kind == "deliver" else None,
    )


def answer(
    served: Served, result: ToolResultBlock | None, run: Run, names: Mapping[str, str]
) -> CallToolResult:
    """A result: structured content where the call succeeded, and never with an error.

    ``names`` are the addresses of what the call left, by their keys in ``_meta``.
    """
    from mcp.types import CallToolResult, TextContent

    text = result.content if result else f"The run {run.id} ended without a result: {run.status}."
    failed = result is None or result.is_error
    structured = None if failed else _structured(served.output_schema, text)
    if served.output_schema is not None and structured is None:
        failed = True  # a success without what the schema promises would be none
    return CallToolResult(
        content=[TextContent(text=text)],
        structured_content=structured,
        is_error=failed,
        _meta={RUN_KEY: run.id, **names},
    )


def _structured(schema: JsonObject | None, text: str) -> JsonObject | None:
    value = parse_object(text)
    if isinstance(value, tuple) or (schema and compile_schema(schema).problems(value)):
        return None
    return value
