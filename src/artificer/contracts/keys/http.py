"""What ``[http]`` and ``[mcp]`` of a manifest may say (``docs/manifests.md``).

``body`` and ``allow_private`` are ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from artificer.values.base import Value

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
Status = Annotated[int, Field(ge=100, le=599)]


class HttpKeys(Value):
    """``[http]``. Any 2xx is a success unless ``success_status`` lists what is.

    ``body`` is a JSON body in TOML, in place of the text ``body_template``. ``allow_private``
    lets the request go to addresses that are not public, such as this machine.
    """

    method: Method = "GET"
    url: Annotated[str, Field(min_length=1)]
    headers: dict[str, str] = Field(default_factory=dict)
    body_template: str | None = None
    body: JsonValue = None
    success_status: tuple[Status, ...] = ()
    error_status: tuple[Status, ...] = ()
    allow_private: bool = False


class McpKeys(Value):
    """``[mcp]``: the tool of a configured server; ``field_map`` names its arguments for ours."""

    server: Annotated[str, Field(min_length=1)]
    tool: Annotated[str, Field(min_length=1)]
    field_map: dict[str, str] = Field(default_factory=dict)
