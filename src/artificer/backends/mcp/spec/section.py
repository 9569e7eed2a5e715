"""The section ``[mcp]`` of a manifest."""

from __future__ import annotations

from artificer.backends.mcp.spec.keys import McpKeys
from artificer.contracts.arguments.check import Fault
from artificer.manifests.keys import ManifestKeys
from artificer.manifests.model import ManifestSection


class McpSection(ManifestSection[McpKeys, McpKeys]):
    """The tool of a configured server, under a contract of the manifest's."""

    name = "mcp"
    keys = McpKeys

    def read(
        self, manifest: ManifestKeys, keys: McpKeys, faults: list[Fault], *, compat: bool
    ) -> McpKeys:
        """Return the keys, checked."""
        faults += [
            Fault(("mcp", "field_map", name), "is not an argument")
            for name in keys.field_map
            if name not in manifest.args
        ]
        return keys

    def origin(self, part: McpKeys) -> str:
        """Return the server."""
        return f"mcp:{part.server}"
