"""The settings of browsers: ``[browser]`` of ``artificer.toml``."""

from __future__ import annotations

from typing import Annotated

from artificer.values.base import CheckedValue, Meta

BrowserAddress = Annotated[
    str, Meta(pattern=r"^(http://(127\.0\.0\.1|localhost|\[::1\]):\d{1,5}/?)?\Z")
]
"""An address of this machine, or none."""


class BrowserConfig(CheckedValue):
    """``[browser]``: ``live`` is where a browser of yours listens (``--remote-debugging-port``).

    With it, manifests may ask for a page in that browser, logged in as you are at the hosts of
    their scope.
    """

    live: BrowserAddress = ""
