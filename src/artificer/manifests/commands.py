"""Sections whose tools are their ``commands``: shared checks, and where their arguments are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from typing import Any

from artificer.contracts.arguments.check import Fault
from artificer.manifests.keys import ManifestKeys
from artificer.manifests.toml_lines import Path


def offer_faults(keys: ManifestKeys, section: str, commands: Sized) -> Iterator[Fault]:
    """Yield the faults of a manifest whose tools are the commands of ``section``."""
    if not commands:
        message = "is missing: there is nothing that a model could call"
        yield Fault((section, "commands"), message, lenient=True)
    if "output" in keys.model_fields_set:
        message = f"means nothing here: what a {section} answers has a form of its own"
        yield Fault(("output",), message, lenient=True)


def command_arguments(table: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the ``args`` of each command of a section's parsed TOML, with their paths."""
    commands = table.get("commands")
    for name, command in commands.items() if isinstance(commands, dict) else ():
        if isinstance(command, dict) and isinstance(command.get("args"), dict):
            yield ("commands", name, "args"), command["args"]
