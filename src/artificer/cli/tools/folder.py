"""The tools of a folder, as the commands below ``artificer tools`` find them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from artificer.cli.common.drive import configuration
from artificer.cli.common.settings import Settings

if TYPE_CHECKING:
    from artificer.contracts.definition import ToolDefinition
    from artificer.manifests.model import ManifestFile


def load(settings: Settings, folder: Path) -> tuple[ManifestFile[Any], ...]:
    """The tools of a folder, as the configuration says. Raises ManifestError."""
    from artificer.backends.loader import load_folder

    config = configuration(settings)
    return load_folder(folder, compat=config.tools_compat, trusted_keys=config.tools_keys)


def find(
    tools: tuple[ManifestFile[Any], ...], name: str
) -> tuple[ManifestFile[Any], ToolDefinition]:
    """The tool of that name, and its file's. Raises NotFoundError."""
    from artificer.errors import NotFoundError

    offered = [(tool, definition) for tool in tools for definition in tool.manifest.definitions]
    for tool, definition in offered:
        if definition.name == name:
            return tool, definition
    known = ", ".join(definition.name for _, definition in offered) or "none"
    raise NotFoundError(f"There is no tool {name!r}.", hint=f"The tools are: {known}.")
