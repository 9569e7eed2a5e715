"""Evidence of a call to another MCP server."""

from __future__ import annotations

from typing import Any, Literal

from artificer.contracts.evidence import Parsed, Stream, evidence_text, with_results
from artificer.values.base import Digest, JsonValue, Text, Value

McpOutcome = Literal["success", "error", "timeout"]


class McpEnvelope(Value):
    """The evidence of a server's tool. ``output`` is its text, or its structured content as JSON.

    ``output_hash`` is the digest of the whole of that, ``blobs`` are images and the like,
    ``notes`` are news about the server for the run.
    """

    status: McpOutcome
    tool: str
    server: str
    remote: Text
    output: Stream = Stream()
    output_hash: Digest | None = None
    blobs: tuple[Digest, ...] = ()
    notes: tuple[str, ...] = ()
    duration_ms: int = 0
    timestamp: str
    fault: Text | None = None

    def to_text(self) -> str:
        """The evidence of a receipt: canonical JSON, its output shortened."""
        return evidence_text(self, output=self.output.shortened())


def mcp_content(envelope: McpEnvelope, structured: JsonValue) -> str:
    """Return the model's JSON: the facts that matter, at most MAX_CONTENT characters."""
    facts: dict[str, Any] = {"status": envelope.status}
    if envelope.fault:
        facts["fault"] = envelope.fault
    if envelope.notes:
        facts["notes"] = list(envelope.notes)
    parsed = None if structured is None else Parsed(structured)
    return with_results(facts, parsed, "output", envelope.output.text)
