"""A toolset as it goes over the wire, and its calls as they come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from artificer.contracts.definition import ToolDefinition
from artificer.contracts.names import SafeNames
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolUseBlock


@dataclass(frozen=True)
class WireTool:
    """One tool as a provider sees it."""

    name: str
    description: str
    schema: JsonObject
    strict: bool


class WireTools:
    """The mapping of one toolset to one provider, both ways."""

    def __init__(self, tools: Sequence[ToolDefinition], *, strict: bool) -> None:
        self.names = SafeNames(tool.name for tool in tools)
        self.key = tuple((tool.name, self.names.to_wire(tool.name)) for tool in tools)
        self._strict = strict

    def wire(self, tool: ToolDefinition) -> WireTool:
        """Return the tool as it goes into a request."""
        return WireTool(
            self.names.to_wire(tool.name), tool.description, tool.input_schema, strict=False
        )

    def from_wire(self, call: ToolUseBlock) -> ToolUseBlock:
        """Return the call with the tool's own name."""
        return call.model_copy(update={"name": self.names.from_wire(call.name)})
