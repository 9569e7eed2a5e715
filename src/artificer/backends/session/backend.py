"""The backend of ``[session]``."""

from __future__ import annotations

from artificer.backends.backend import Backend
from artificer.backends.session.spec.section import SessionSection
from artificer.plugins import on_call

BACKEND = Backend(
    section=SessionSection(), executors=on_call("artificer.backends.session.executor:executors")
)
