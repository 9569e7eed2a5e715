"""Function tools, as a capability of runs."""

from __future__ import annotations

from typing import Any

from artificer.backends.capability import Capability
from artificer.plugins import on_call

CAPABILITY: Capability[Any] = Capability(
    executors=on_call("artificer.backends.function.executor:executors")
)
