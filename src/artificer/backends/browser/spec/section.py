"""The section ``[browser]`` of a manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from artificer.backends.browser.spec.commands import browser_commands, browser_faults
from artificer.backends.browser.spec.keys import BrowserKeys
from artificer.contracts.arguments.check import Fault
from artificer.contracts.definition import ToolDefinition
from artificer.manifests.commands import command_arguments
from artificer.manifests.keys import ManifestKeys
from artificer.manifests.model import Manifest, ManifestSection
from artificer.manifests.toml_lines import Path


class BrowserSection(ManifestSection[BrowserKeys, BrowserKeys]):
    """A browser, whose actions are the tools."""

    name = "browser"
    keys = BrowserKeys
    ignorable = (
        *((key,) for key in ("engine", "headless", "extract_mode", "defaults", "state")),
        ("commands", "*", "description"),
    )
    restricting = (("scope",),)

    def read(
        self, manifest: ManifestKeys, keys: BrowserKeys, faults: list[Fault], *, compat: bool
    ) -> BrowserKeys:
        """Return the keys, checked."""
        faults += browser_faults(manifest, keys)
        return keys

    def definitions(self, manifest: Manifest[BrowserKeys]) -> tuple[ToolDefinition, ...]:
        """Return a tool for each action."""
        return tuple(c.definition for c in browser_commands(manifest.tool, manifest.part))

    def argument_tables(self, table: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the ``args`` of each action."""
        return command_arguments(table)
