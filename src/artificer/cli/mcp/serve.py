"""``artificer mcp``: serve this project's tools to an MCP client."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from artificer.backends.artifact import offered
from artificer.backends.artifact.executor import ArtifactExecutor
from artificer.backends.loader import load_folder
from artificer.backends.mcp.settings import McpConfig
from artificer.cli.commands.mcp import McpOptions
from artificer.cli.commands.shared import ExecutionOptions
from artificer.cli.configuration import configuration
from artificer.cli.execution.listening import listen
from artificer.cli.mcp.resources import Resources
from artificer.cli.mcp.server import ToolServer, serve_http
from artificer.cli.mcp.stdio import serve_stdio
from artificer.cli.mcp.wire import Served
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.config import Config
from artificer.manifests.model import ManifestFile
from artificer.values.base import JsonObject
from artificer.wiring.resources import WorldResources
from artificer.wiring.servers import build_servers
from artificer.wiring.storage import OpenStorage, open_storage
from artificer.wiring.toolbox import ToolBox, build_tools
from artificer.world import World


async def serve(settings: Settings, options: McpOptions) -> Exit:
    """Serve the tools until the client closes the connection."""
    execution = ExecutionOptions(local_model=None, compat=options.compat)
    config = configuration(settings, execution)
    folders = tuple(dict.fromkeys((*config.tools, *options.tools)))
    storage = await open_storage(config)
    # A run gets its one tool from here, and none that every run of the project would have.
    bare = config.replace(tools=(), mcp=McpConfig())
    resources = WorldResources(config, storage)
    async with World(WorldResources(bare, storage)) as world, build_servers(resources) as servers:
        box = build_tools(
            [*folders, *await servers.offered()],
            kind="chat",
            world=resources,
            servers=servers,
        )
        files = _files(folders, config)
        schemas = {name: tool.manifest.output_schema for name, tool in files.items()}
        served = [*_manifests(box, schemas), *_artifacts(storage, options.artifacts)]
        texts = {name: _text(tool) for name, tool in files.items()}
        tool_server = ToolServer(
            world, served, Resources(texts, storage.blobs, makes_reports=options.artifacts)
        )
        try:
            await _serve(tool_server, options.port, len(served))
        finally:
            await tool_server.aclose()
    return Exit.OK


async def _serve(tool_server: ToolServer, port: int | None, tools: int) -> None:
    server = tool_server.build()
    if port is None:
        await serve_stdio(server)
    else:
        listening = listen("The MCP server", "127.0.0.1", port)
        note(f"serving {count(tools, 'tool')} at http://127.0.0.1:{port}/mcp")
        await serve_http(server, listening)


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


def _artifacts(storage: OpenStorage, wanted: bool) -> list[Served]:
    executor = ArtifactExecutor(storage.blobs, offered.tools())
    return [Served(tool, executor, "deliver", None) for tool in executor.tools if wanted]
