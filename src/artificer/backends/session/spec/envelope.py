"""Evidence of one interaction with a session: the line that was sent, and the program's answer."""

from __future__ import annotations

from typing import Any, Literal

from artificer.backends.session.spec.events import SessionEvent
from artificer.contracts.evidence import Stream, evidence_text, fitted
from artificer.values.base import Digest, Text, Value
from artificer.values.text import clip, head_and_tail

SessionOutcome = Literal["success", "error", "timeout"]

MAX_BEFORE = 4_000
"""The limit on characters of the output before a line was sent."""

MAX_EVENTS = 8_000
"""The limit on characters of the reported events; the newest are kept."""

MAX_PROMPT = 200
"""Characters of a prompt."""


class SessionEnvelope(Value):
    """The evidence of an interaction.

    ``line`` is what was sent, None when nothing was. ``started`` says that the program was started
    for this call, and knows of nothing that was sent before. ``ready`` is whether it waits for the
    next line, at ``prompt``, of its ``child`` session where one is open. ``before`` is its output
    between two calls or, where the manifest wants ``events``, these are; ``events_lost`` counts
    those that were too many or too old. ``output_hash`` is the digest of every
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
    events: tuple[SessionEvent, ...] = ()
    events_lost: int = 0
    started: bool = False
    ready: bool = False
    prompt: Text = ""
    is_news: bool = False
    child: Text = ""
    interaction: int = 0
    duration_ms: int = 0
    timestamp: str
    fault: Text | None = None

    def to_text(self) -> str:
        """The evidence of a receipt: canonical JSON, its output shortened."""
        return evidence_text(self, output=self.output.shortened())

    def to_content(self) -> str:
        """Return the model's JSON: the facts that matter, at most MAX_CONTENT characters."""
        facts: dict[str, Any] = {"status": self.status, "ready": self.ready}
        if self.fault:
            facts["fault"] = self.fault
        if self.started:
            facts["started"] = True
        if self.is_news and self.prompt:
            facts["prompt"] = clip(self.prompt, MAX_PROMPT)
        if self.child:
            facts["child"] = self.child
        if self.before:
            facts["before"] = head_and_tail(self.before, MAX_BEFORE)
        if self.events:
            facts["events"] = [event.to_json() for event in self._latest()]
        if lost := self.events_lost + len(self.events) - len(self._latest()):
            facts["events_lost"] = lost
        return fitted(facts, "output", self.output.text)

    def _latest(self) -> tuple[SessionEvent, ...]:
        """The events that there is room for."""
        kept, room = list[SessionEvent](), MAX_EVENTS
        for event in reversed(self.events):
            room -= len(event.content) + 100
            if room < 0:
                break
            kept.insert(0, event)
        return tuple(kept)
