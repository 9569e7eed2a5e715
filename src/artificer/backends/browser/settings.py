"""The settings of browsers: ``[browser]`` of ``artificer.toml``."""

from __future__ import annotations

from pydantic import Field

from artificer.backends.settings import BackendSettings


class BrowserConfig(BackendSettings):
    """``[browser]``: ``live`` is where a browser of yours listens (``--remote-debugging-port``).

    With it, manifests may ask for a page in that browser, logged in as you are at the hosts of
    their scope.
    """

    live: str = Field(default="", pattern=r"^(http://(127\.0\.0\.1|localhost|\[::1\]):\d{1,5}/?)?$")
