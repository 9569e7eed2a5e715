"""The tools of a folder, for the commands below ``artificer tools``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from artificer.backends.loader import load_folder
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.contracts.definition import ToolDefinition
from artificer.errors import NotFoundError
from artificer.manifests.model import ManifestFile


def load(settings: Settings, folder: Path) -> tuple[ManifestFile[Any], ...]:
    """Load the tools of a folder with the project's settings. Raises ManifestError."""
    config = configuration(settings)
    return load_folder(folder, compat=config.tools_compat, trusted_keys=config.tools_keys)


def find(
    tools: tuple[ManifestFile[Any], ...], name: str
) -> tuple[ManifestFile[Any], ToolDefinition]:
    """Return the tool of that name and its definition. Raises NotFoundError."""
    offered = [(tool, definition) for tool in tools for definition in tool.manifest.definitions]
    for tool, definition in offered:
        if definition.name == name:
            return tool, definition
    known = ", ".join(definition.name for _, definition in offered) or "none"
    raise NotFoundError(f"Unknown tool: {name!r}.", hint=f"Known: {known}.")
