"""``artificer tools schema``: the schema of a tool for a model, an MCP client or a provider."""

from __future__ import annotations

from typing import Any

import click

from artificer.cli.commands.tools import PROVIDERS, SchemaOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.tools.folder import find, load
from artificer.contracts.definition import ToolDefinition
from artificer.contracts.strict_dialect import ANTHROPIC_STRICT, OPENAI_STRICT
from artificer.manifests.model import ManifestFile
from artificer.providers.wire_tools import WireTools
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import memory_storage
from artificer.wiring.toolbox import build_tools


def schema(settings: Settings, options: SchemaOptions) -> Exit:
    """Print the schema of one tool, or the tools in a provider's strict form."""
    if options.strict is not None and not options.mcp:
        return _print_strict(settings, options, options.strict)
    if options.tool is None or options.strict is not None:
        raise click.UsageError("Name a TOOL, or a provider with --strict; --mcp excludes --strict.")
    found, definition = find(load(settings, options.folder), options.tool)
    out_json(_mcp_form(found, definition) if options.mcp else definition.input_schema)
    return Exit.OK


def _print_strict(settings: Settings, options: SchemaOptions, provider: str) -> Exit:
    """Print the tools in the form of a request to the provider."""
    config = configuration(settings)
    world = WorldResources(config, memory_storage())
    box = build_tools([options.folder], kind="chat", world=world)
    tools = box.narrowed(None if options.tool is None else [options.tool]).toolset.tools
    dialect = dict(zip(PROVIDERS, (ANTHROPIC_STRICT, OPENAI_STRICT), strict=True))[provider]
    wired = WireTools(tools, strict=dialect)
    forms = []
    for definition in tools:
        wire = wired.wire(definition)
        forms.append({"name": wire.name, "strict": wire.strict, "schema": wire.schema})
        if not wire.strict:
            note(f"{definition.name} is sent without strict mode")
    out_json(forms if options.tool is None else forms[0])
    return Exit.OK


def _mcp_form(tool: ManifestFile[Any], definition: ToolDefinition) -> dict[str, object]:
    form: dict[str, object] = {
        "name": definition.name,
        "description": definition.description,
        "inputSchema": definition.input_schema,
        "annotations": {
            "readOnlyHint": definition.effect == "pure",
            "idempotentHint": definition.effect in ("pure", "idempotent"),
        },
    }
    if tool.manifest.output_schema is not None:
        form["outputSchema"] = tool.manifest.output_schema
    return form
