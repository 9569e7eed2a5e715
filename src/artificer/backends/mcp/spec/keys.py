"""The keys of ``[mcp]`` (``docs/manifests.md``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from artificer.values.keys import KeyTable


class McpKeys(KeyTable):
    """``[mcp]``: the tool of a configured server; ``field_map`` names its arguments for ours."""

    server: Annotated[str, Field(min_length=1)]
    tool: Annotated[str, Field(min_length=1)]
    field_map: dict[str, str] = Field(default_factory=dict)
