"""Evidence of one interaction with a session: what was sent, and what the program said to it."""

from __future__ import annotations

from typing import Any, Literal

from artificer.contracts.evidence import Stream, evidence_text, fitted
from artificer.values.base import Digest, Text, Value
from artificer.values.text import head_and_tail

SessionOutcome = Literal["success", "error", "timeout"]

MAX_BEFORE = 4_000
"""Characters that are told of what came before a line was sent."""


class SessionEnvelope(Value):
    """What an interaction did.

    ``line`` is what was sent, None when nothing was. ``started`` says that the program was started
    for this call, and knows of nothing that was sent before. ``ready`` is whether it waits for the
    next line. ``before`` is what it said between two calls. ``output_hash`` is the digest of every
    byte it wrote, ``blob`` where they are kept when they are too many for this envelope.
    """

    status: SessionOutcome
    tool: str
    program: tuple[str, ...]
    line: Text | None = None
    output: Stream = Stream()
    output_hash: Digest | None = None
    blob: Digest | None = None
    before: Text = ""
    started: bool = False
    ready: bool = False
    interaction: int = 0
    duration_ms: int = 0
    timestamp: str
    fault: Text | None = None

    def to_text(self) -> str:
        """The evidence of a receipt: canonical JSON, its output shortened."""
        return evidence_text(self, output=self.output.shortened())

    def to_content(self) -> str:
        """What a model reads: JSON with what matters, at most MAX_CONTENT characters."""
        facts: dict[str, Any] = {"status": self.status, "ready": self.ready}
        if self.fault:
            facts["fault"] = self.fault
        if self.started:
            facts["started"] = True
        if self.before:
            facts["before"] = head_and_tail(self.before, MAX_BEFORE)
        return fitted(facts, "output", self.output.text)
