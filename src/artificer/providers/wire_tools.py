"""The mapping of a toolset to the wire, and of its calls back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from artificer.contracts.definition import ToolDefinition
from artificer.contracts.names import SafeNames
from artificer.contracts.strict_dialect import StrictDialect
from artificer.contracts.strict_schema import StrictSchema, strict
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolUseBlock
from artificer.values.strict_json import parse_object


@dataclass(frozen=True)
class WireTool:
    """One tool as a provider sees it."""

    name: str
    description: str
    schema: JsonObject
    strict: bool


class WireTools:
    """The mapping of one toolset to one provider, both ways.

    ``strict`` is the provider's strict mode, or None. Its limits apply to a whole request: tools
    become strict in order as long as there is room, after the ``optional`` properties elsewhere in
    the request. Everything is derived when first needed, so that an unchanged request costs
    nothing.
    """

    def __init__(
        self, tools: Sequence[ToolDefinition], *, strict: StrictDialect | None, optional: int = 0
    ) -> None:
        self._tools = tuple(tools)
        self._dialect = strict
        self._optional = optional

    @cached_property
    def names(self) -> SafeNames:
        """The names, both ways."""
        return SafeNames(tool.name for tool in self._tools)

    @cached_property
    def _strict(self) -> dict[str, StrictSchema]:
        if self._dialect is None:
            return {}
        return _strict_schemas(self._tools, self._dialect, self._optional)

    def wire(self, tool: ToolDefinition) -> WireTool:
        """Return the tool as it goes into a request."""
        derived = self._strict.get(tool.name)
        schema = tool.input_schema if derived is None else derived.schema
        name = self.names.to_wire(tool.name)
        return WireTool(name, tool.description, schema, strict=derived is not None)

    def from_wire(self, call: ToolUseBlock) -> ToolUseBlock:
        """Return the call with the tool's own name and without nulls that strict mode added.

        The arguments' text is the model's own, byte for byte, unless it had such nulls; the reply's
        raw bytes then hold the original.
        """
        name = self.names.from_wire(call.name)
        update = {"name": name}
        derived = self._strict.get(name)
        parsed = parse_object(call.arguments) if derived else ()
        if derived and isinstance(parsed, dict):
            pruned = derived.without_added_nulls(parsed)
            if pruned != parsed:
                update["arguments"] = json.dumps(pruned, ensure_ascii=False)
        return call.replace(**update)


def _strict_schemas(
    tools: Sequence[ToolDefinition], dialect: StrictDialect, optional: int
) -> dict[str, StrictSchema]:
    chosen: dict[str, StrictSchema] = {}
    for tool in tools:
        derived = strict(tool.input_schema, dialect)
        fits = derived.fits and optional + derived.optional <= dialect.max_optional
        if fits and len(chosen) < dialect.max_tools:
            optional += derived.optional
            chosen[tool.name] = derived
    return chosen
