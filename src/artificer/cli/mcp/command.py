"""``artificer mcp``: this project's tools for any MCP client."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from artificer.backends.artifact import ArtifactExecutor
from artificer.backends.loader import load_folder
from artificer.backends.mcp.settings import McpConfig
from artificer.cli.common.attend import COMPAT, FOLDER
from artificer.cli.common.drive import configuration, drive
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.mcp.resources import Shelf
from artificer.cli.mcp.server import ToolServer, serve_http, serve_stdio
from artificer.cli.mcp.wire import Served
from artificer.cli.terminal.console import note
from artificer.cli.terminal.exits import Exit
from artificer.config import Config
from artificer.manifests.model import ManifestFile
from artificer.values.base import JsonObject
from artificer.wiring.servers import build_servers
from artificer.wiring.storage import Storage, open_storage
from artificer.wiring.toolbox import ToolBox, build_tools
from artificer.world import World


@click.command(name="mcp")
@click.option("--tools", type=FOLDER, multiple=True, help="A folder of *.clad.toml manifests.")
@click.option("--artifacts", is_flag=True, help="Serve the create_* tools too.")
@click.option("--http", "port", type=click.IntRange(1, 65535), help="A port, instead of stdio.")
@COMPAT
@pass_settings
def command(
    settings: Settings, tools: tuple[Path, ...], artifacts: bool, port: int | None, compat: bool
) -> int:
    """Serve tools to an MCP client over stdin and stdout, or on a port of this machine.

    The tools are those of --tools and of artificer.toml. Every call is a run: judged by the
    project's policy, recorded, replayable. Where the policy says `ask`, the client's user is asked,
    if the client can do that (elicitation); else the answer is no. Manifests and the evidence of a
    client's calls are resources.

    \b
    Examples:
      artificer mcp --tools ./tools
      artificer mcp --tools ./tools --artifacts --http 8000
    """
    config = configuration(settings, compat=compat)
    folders = tuple(dict.fromkeys((*config.tools, *tools)))

    async def work() -> Exit:
        storage = await open_storage(config)
        # A run gets its one tool from here, and none that every run of the project would have.
        alone = config.model_copy(update={"tools": (), "mcp": McpConfig()})
        async with World(alone, storage) as world, build_servers(config, storage) as servers:
            box = build_tools(
                [*folders, *await servers.offered()],
                kind="chat",
                storage=storage,
                config=config,
                servers=servers,
            )
            files = _files(folders, config)
            schemas = {name: tool.manifest.output_schema for name, tool in files.items()}
            served = [*_manifests(box, schemas), *_artifacts(storage, artifacts)]
            texts = {name: _text(tool) for name, tool in files.items()}
            tool_server = ToolServer(world, served, Shelf(texts, storage.blobs))
            server = tool_server.build()
            try:
                if port is None:
                    await serve_stdio(server)
                else:
                    note(f"serving {len(served)} tools at http://127.0.0.1:{port}/mcp")
                    await serve_http(server, port)
            finally:
                await tool_server.aclose()
        return Exit.OK

    return drive(work)


def _files(folders: tuple[Path, ...], config: Config) -> dict[str, ManifestFile[Any]]:
    """The manifests, by the names of their tools."""
    loaded = (
        load_folder(folder, compat=config.tools_compat, trusted_keys=config.tools_keys)
        for folder in folders
    )
    return {tool.manifest.tool.name: tool for found in loaded for tool in found}


def _text(tool: ManifestFile[Any]) -> str:
    return Path(tool.file).read_text(encoding="utf-8")


def _manifests(box: ToolBox, schemas: Mapping[str, JsonObject | None]) -> list[Served]:
    return [
        Served(tool, box.executors[tool.name], "chat", schemas.get(tool.name))
        for tool in box.toolset.tools
    ]


def _artifacts(storage: Storage, wanted: bool) -> list[Served]:
    executor = ArtifactExecutor(storage.blobs)
    return [Served(tool, executor, "deliver", None) for tool in executor.tools if wanted]
