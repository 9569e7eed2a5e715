"""The backend of ``[http]``."""

from __future__ import annotations

from artificer.backends.backend import Backend
from artificer.backends.http.spec.section import HttpSection
from artificer.plugins import on_call

BACKEND = Backend(
    section=HttpSection(), executors=on_call("artificer.backends.http.executor:executors")
)
