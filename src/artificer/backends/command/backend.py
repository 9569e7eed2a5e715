"""The backend of ``[command]``."""

from __future__ import annotations

from artificer.backends.backend import Backend
from artificer.backends.command.spec.section import CommandSection
from artificer.plugins import on_call

BACKEND = Backend(
    section=CommandSection(), executors=on_call("artificer.backends.command.executor:executors")
)
