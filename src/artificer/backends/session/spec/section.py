"""The section ``[session]`` of a manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from artificer.backends.session.spec.children import SessionPart, with_children
from artificer.backends.session.spec.commands import session_commands, session_faults
from artificer.backends.session.spec.keys import SessionKeys
from artificer.contracts.arguments.check import Fault
from artificer.contracts.definition import ToolDefinition
from artificer.manifests.commands import command_arguments, offer_faults
from artificer.manifests.keys import ManifestKeys
from artificer.manifests.model import Manifest, ManifestFile, ManifestSection
from artificer.manifests.toml_lines import Path


class SessionSection(ManifestSection[SessionKeys, SessionPart]):
    """An interactive program, whose commands are the tools."""

    name = "session"
    keys = SessionKeys
    trust = "trusted"
    ignorable = (("events",), ("commands", "*", "description"))

    def read(
        self, manifest: ManifestKeys, keys: SessionKeys, faults: list[Fault], *, compat: bool
    ) -> SessionPart:
        """Return the keys, checked; :meth:`link` adds the child."""
        if manifest.tool.mode not in (None, "session"):
            message = f"is {manifest.tool.mode!r}, but there is a [session]"
            faults.append(Fault(("tool", "mode"), message))
        if manifest.args:
            faults.append(Fault(("args",), "has no effect here: commands have args of their own"))
        faults += offer_faults(manifest, "session", keys.commands)
        faults += session_faults(manifest.tool, keys)
        return SessionPart(keys)

    def definitions(self, manifest: Manifest[SessionPart]) -> tuple[ToolDefinition, ...]:
        """Return a tool for each command, and for each of the child's."""
        part = manifest.part
        commands = session_commands(manifest.tool, part.keys, manifest.scope, part.child)
        return tuple(command.definition for command in commands)

    def link(self, files: Sequence[ManifestFile[Any]]) -> tuple[list[ManifestFile[Any]], list[str]]:
        """Join sessions with the children that they open."""
        return with_children(files)

    def argument_tables(self, table: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the ``args`` of each command."""
        return command_arguments(table)

    def fill_in(self, table: dict[str, Any]) -> Iterator[Fault]:
        """Complete what the reference does not demand of sessions."""
        if "ready_pattern" not in table:
            table["ready_pattern"] = ""
            message = "is missing: the program is ready when it is silent"
            yield Fault(("session", "ready_pattern"), message, lenient=True)
        commands = table.get("commands")
        for name, command in commands.items() if isinstance(commands, dict) else ():
            if isinstance(command, dict):
                yield from _fill_in_command(name, command)


def _fill_in_command(name: str, command: dict[str, Any]) -> Iterator[Fault]:
    path = ("session", "commands", name)
    if not command.get("description"):
        command["description"] = name
        message = f"is missing: taken to be {name!r}"
        yield Fault((*path, "description"), message, lenient=True)
    if command.get("args") and "pattern" in command and "template" not in command:
        del command["args"]
        message = "without a template, a line that matches the pattern is taken instead"
        yield Fault((*path, "args"), message, lenient=True)
