"""Evidence of one action in a browser: what was done, and where that led."""

from __future__ import annotations

from typing import Any, Literal

from artificer.contracts.evidence import MAX_EVIDENCE, compact, evidence_text, fitted
from artificer.values.base import Digest, JsonValue, Text, Value, field
from artificer.values.text import clip, head_and_tail

BrowserOutcome = Literal["success", "error", "timeout"]


class BrowserEnvelope(Value):
    """The evidence of an action.

    ``url`` and ``title`` are the page's afterwards, ``state`` what else its manifest wants to know
    of it. ``results`` is what was read of it, ``blob`` where all of that, or the picture, is kept;
    ``picture`` shows the page where evidence is to have screenshots. ``refused`` are the hosts out
    of scope that the page asked for, with the reason. ``started`` says that the browser was
    started for this call.
    """

    status: BrowserOutcome
    tool: str
    url: Text = ""
    title: Text = ""
    results: Text | None = None
    blob: Digest | None = None
    picture: Digest | None = None
    state: dict[str, JsonValue] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    started: bool = False
    interaction: int = 0
    duration_ms: int = 0
    timestamp: str
    fault: Text | None = None

    def to_text(self) -> str:
        """The evidence of a receipt: canonical JSON, its results shortened."""
        results = None if self.results is None else head_and_tail(self.results, MAX_EVIDENCE)
        return evidence_text(self, results=results)

    def to_content(self) -> str:
        """Return the model's JSON: the facts that matter, at most MAX_CONTENT characters."""
        facts: dict[str, Any] = {
            "status": self.status,
            "url": clip(self.url, 2_000),
            "title": clip(self.title, 300),
        }
        optional: dict[str, JsonValue] = {
            "fault": self.fault,
            "started": self.started,
            "refused": dict(self.refused),
            "state": self.state,
            "blob": self.blob,
        }
        facts |= {key: value for key, value in optional.items() if value}
        if self.results is None:
            return compact(facts)
        return fitted(facts, "results", self.results)
