"""The keys of ``[http]`` (``docs/manifests.md``).

``body``, ``allow_private`` and ``trace`` are ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from artificer.manifests.keys import Status
from artificer.values.keys import KeyTable

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class HttpKeys(KeyTable):
    """``[http]``. Any 2xx is a success unless ``success_status`` lists what is.

    ``body`` is a JSON body in TOML, in place of the text ``body_template``. ``allow_private``
    lets the request go to addresses that are not public, such as this machine. ``trace`` lets the
    server know the trace that the call belongs to.
    """

    method: Method = "GET"
    url: Annotated[str, Field(min_length=1)]
    headers: dict[str, str] = Field(default_factory=dict)
    body_template: str | None = None
    body: JsonValue = None
    success_status: tuple[Status, ...] = ()
    error_status: tuple[Status, ...] = ()
    allow_private: bool = False
    trace: bool = False
