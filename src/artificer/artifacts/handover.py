"""The answer of an agent that took a conversation over."""

from __future__ import annotations

from artificer.artifacts.ref import ArtifactRef
from artificer.values.base import Text, Value


class Handover(Value):
    """The answer of the run that took a conversation over: its text, with its artifacts."""

    run: str
    narrative: Text
    artifacts: tuple[ArtifactRef, ...] = ()
