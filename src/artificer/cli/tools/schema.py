"""``artificer tools schema``: what a model, an MCP client or a provider is given of a tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from artificer.cli.common.drive import configuration
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.tools.folder import find, load

if TYPE_CHECKING:
    from artificer.contracts.definition import ToolDefinition
    from artificer.manifests.model import ManifestFile

PROVIDERS = ("anthropic", "openai")


@click.command(name="schema")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("tool", required=False)
@click.option("--mcp", is_flag=True, help="As an MCP server would offer it.")
@click.option(
    "--strict",
    type=click.Choice(PROVIDERS),
    help="As this provider's strict mode is sent them: one TOOL, or all of FOLDER.",
)
@pass_settings
def schema(
    settings: Settings,
    folder: Path,
    tool: str | None,
    mcp: bool,
    strict: str | None,
) -> int:
    """Print the JSON Schema of TOOL's arguments.

    With --strict an object with the name and the schema that a request holds, or an array of them
    without TOOL. "strict": false says that this schema is beyond the provider's strict mode, or
    that the toolset is; the gate holds a model to the schema in any case.

    \b
    Example:
      artificer tools schema examples/tools git_log
      artificer tools schema examples/tools git_log --strict openai
      artificer tools schema examples/tools --strict anthropic
    """
    if strict is not None and not mcp:
        return _print_strict(settings, folder, tool, strict)
    if tool is None or strict is not None:
        raise click.UsageError("Name a TOOL, or a provider with --strict; --mcp goes alone.")
    found, definition = find(load(settings, folder), tool)
    out_json(_mcp_form(found, definition) if mcp else definition.input_schema)
    return Exit.OK


def _print_strict(settings: Settings, folder: Path, tool: str | None, provider: str) -> int:
    """Print what a request to the provider would hold, of these tools alone."""
    from artificer.contracts.strict_dialect import ANTHROPIC_STRICT, OPENAI_STRICT
    from artificer.providers.wire_tools import WireTools
    from artificer.wiring.storage import memory_storage
    from artificer.wiring.toolbox import build_tools

    config = configuration(settings)
    box = build_tools([folder], kind="chat", storage=memory_storage(), config=config)
    tools = box.narrowed(None if tool is None else [tool]).toolset.tools
    dialect = dict(zip(PROVIDERS, (ANTHROPIC_STRICT, OPENAI_STRICT), strict=True))[provider]
    wired = WireTools(tools, strict=dialect)
    forms = []
    for definition in tools:
        wire = wired.wire(definition)
        forms.append({"name": wire.name, "strict": wire.strict, "schema": wire.schema})
        if not wire.strict:
            note(f"{definition.name} is sent without strict mode")
    out_json(forms if tool is None else forms[0])
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
