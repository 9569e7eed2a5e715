"""``artificer tools list`` and ``artificer tools show``: the tools of a folder."""

from __future__ import annotations

from artificer.cli.commands.tools import ListToolsOptions, ShowToolOptions
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.tools.folder import find, load


def list_tools(settings: Settings, options: ListToolsOptions) -> Exit:
    """Print the tools of a folder."""
    tools = load(settings, options.folder)
    definitions = [d for tool in tools for d in tool.manifest.definitions]
    if options.as_json:
        out_json([definition.to_json() for definition in definitions])
        return Exit.OK
    width = max((len(d.name) for d in definitions), default=0)
    for d in definitions:
        out(f"{d.name:<{width}}  {d.risk:<8}  {d.effect:<10}  {one_line(d.description, 80)}")
    return Exit.OK


def show(settings: Settings, options: ShowToolOptions) -> Exit:
    """Print the contract of one tool."""
    found, definition = find(load(settings, options.folder), options.tool)
    manifest = found.manifest
    out(f"{definition.name} {manifest.tool.version}", "strong")
    out(definition.description)
    out(f"file      {found.file}")
    out(f"backend   {definition.backend}")
    out(f"risk      {definition.risk}{' · needs approval' if definition.human_approval else ''}")
    out(f"effect    {definition.effect}")
    out(f"timeout   {definition.timeout_ms / 1000:g} s")
    for argument in manifest.arguments:
        kind = f"list of {argument.type}" if argument.list else argument.type
        need = "required" if argument.required else f"default {argument.default!r}"
        out(f"  {argument.name}: {kind}, {need}. {argument.description}")
    if definition != manifest.definition:
        out_json(definition.input_schema)
    return Exit.OK
