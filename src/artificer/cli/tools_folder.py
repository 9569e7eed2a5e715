"""The tools of a folder, as the commands below ``artificer tools`` find them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from artificer.cli.drive import configuration
from artificer.cli.settings import Settings

if TYPE_CHECKING:
    from artificer.tools.command import CommandTool


def load(settings: Settings, folder: Path) -> tuple[CommandTool, ...]:
    """The tools of a folder, as the configuration says. Raises ManifestError."""
    from artificer.tools.loader import load_folder

    config = configuration(settings)
    return load_folder(folder, compat=config.tools_compat, trusted_keys=config.tools_keys)


def find(tools: tuple[CommandTool, ...], name: str) -> CommandTool:
    """The tool of that name. Raises NotFoundError."""
    from artificer.errors import NotFoundError

    for tool in tools:
        if tool.definition.name == name:
            return tool
    known = ", ".join(tool.definition.name for tool in tools) or "none"
    raise NotFoundError(f"There is no tool {name!r}.", hint=f"The tools are: {known}.")
