"""``artificer tools``: folders of manifests, looked at and tried by hand."""

from __future__ import annotations

from pathlib import Path

import click

from artificer.cli.common.drive import configuration
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.tools.examples import test
from artificer.cli.tools.folder import find, load
from artificer.cli.tools.new import new
from artificer.cli.tools.run import run
from artificer.cli.tools.schema import schema

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group(name="tools")
def command() -> None:
    """Folders of manifests: check, show, try and write them.

    \b
    Example:
      artificer tools check examples/tools
      artificer tools run examples/tools git_log --args '{"count": 3}' --dry-run
    """


command.add_command(run)
command.add_command(test)
command.add_command(new)
command.add_command(schema)


@command.command(name="check")
@click.argument("folders", nargs=-1, required=True, type=_FOLDER)
@click.option("--compat", is_flag=True, help="As lenient as the format's reference; say where.")
@pass_settings
def check(settings: Settings, folders: tuple[Path, ...], compat: bool) -> int:
    """Read FOLDERS as a run would, and tell every fault with its file, line and key.

    \b
    Example:
      artificer tools check tools
      artificer tools check their-tools --compat
    """
    from artificer.backends.loader import load_folder
    from artificer.errors import ManifestError

    config = configuration(settings)
    bad = 0
    for folder in folders:
        try:
            tools = load_folder(
                folder, compat=compat or config.tools_compat, trusted_keys=config.tools_keys
            )
        except ManifestError as error:
            bad += 1
            out(error.message, "bad")
            continue
        for tool in tools:
            for warning in tool.manifest.warnings:
                note(f"warning: {warning}")
        out(f"{folder}: {len(tools)} tools", "good")
    return Exit.AUTHOR if bad else Exit.OK


@command.command(name="list")
@click.argument("folder", type=_FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of tool definitions.")
@pass_settings
def list_tools(settings: Settings, folder: Path, as_json: bool) -> int:
    """List the tools of FOLDER: name, risk, effect, and what it is for.

    \b
    Example:
      artificer tools list examples/tools
    """
    definitions = [d for tool in load(settings, folder) for d in tool.manifest.definitions]
    if as_json:
        out_json([definition.model_dump(mode="json") for definition in definitions])
        return Exit.OK
    width = max((len(d.name) for d in definitions), default=0)
    for d in definitions:
        out(f"{d.name:<{width}}  {d.risk:<8}  {d.effect:<10}  {one_line(d.description, 80)}")
    return Exit.OK


@command.command(name="show")
@click.argument("folder", type=_FOLDER)
@click.argument("tool")
@pass_settings
def show(settings: Settings, folder: Path, tool: str) -> int:
    """Show one TOOL: its contract, its arguments, and where it is written.

    \b
    Example:
      artificer tools show examples/tools git_log
    """
    found, definition = find(load(settings, folder), tool)
    manifest = found.manifest
    out(f"{definition.name} {manifest.tool.version}", "strong")
    out(definition.description)
    out(f"file      {found.file}")
    out(f"backend   {definition.backend}")
    out(f"risk      {definition.risk}{' · asks a person' if definition.human_approval else ''}")
    out(f"effect    {definition.effect}")
    out(f"timeout   {definition.timeout_ms / 1000:g} s")
    for argument in manifest.arguments:
        kind = f"list of {argument.type}" if argument.list else argument.type
        need = "required" if argument.required else f"default {argument.default!r}"
        out(f"  {argument.name}: {kind}, {need}. {argument.description}")
    if definition != manifest.definition:
        out_json(definition.input_schema)
    return Exit.OK


@command.command(name="prune")
@click.option("--days", type=click.FloatRange(min=0), default=30, show_default=True, metavar="N")
@pass_settings
def prune(settings: Settings, days: float) -> int:
    """Remove what tools wrote about the calls of runs that are older than N days.

    Records and blobs stay: this removes the folders that programs wrote files into.

    \b
    Example:
      artificer tools prune --days 7
    """
    from artificer.backends.command.evidence import prune as prune_folder

    gone = prune_folder(configuration(settings).project_folder / "evidence", older_than_days=days)
    note(f"removed the folders of {len(gone)} runs")
    return Exit.OK
