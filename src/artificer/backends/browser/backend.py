"""The backend of ``[browser]``."""

from __future__ import annotations

from artificer.backends.backend import Backend
from artificer.backends.browser.spec.section import BrowserSection
from artificer.plugins import on_call

BACKEND = Backend(
    section=BrowserSection(), executors=on_call("artificer.backends.browser.executor:executors")
)
