"""Command lines of manifests, as tests want them."""

from __future__ import annotations

from collections.abc import Mapping

from artificer.backends.command.spec.argv import Built
from artificer.backends.command.spec.section import CommandPart, bind_command, command_line
from artificer.manifests.model import Manifest
from artificer.values.base import JsonValue


def argv_of(manifest: Manifest[CommandPart], arguments: Mapping[str, JsonValue]) -> Built:
    """Return the command for arguments that have passed the input schema."""
    return command_line(manifest, bind_command(manifest, arguments))
