"""Evidence of a call to another MCP server."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import JsonValue

from artificer.contracts.command.envelope import MAX_CONTENT, MAX_EVIDENCE, Stream
from artificer.values.base import Digest, Text, Value
from artificer.values.canon import canonical
from artificer.values.text import head_and_tail

McpOutcome = Literal["success", "error", "timeout"]


class McpEnvelope(Value):
    """What a server's tool did. ``output`` is its text, or its structured content as JSON.

    ``output_hash`` is the digest of the whole of that, ``blobs`` are images and the like.
    """

    status: McpOutcome
    tool: str
    server: str
    remote: Text
    output: Stream = Stream()
    output_hash: Digest | None = None
    blobs: tuple[Digest, ...] = ()
    duration_ms: int = 0
    timestamp: str
    fault: Text | None = None

    def to_text(self) -> str:
        """The evidence of a receipt: canonical JSON, its output shortened."""
        text = head_and_tail(self.output.text, MAX_EVIDENCE)
        output = self.output.model_copy(
            update={"text": text, "truncated": text != self.output.text}
        )
        shortened = self.model_copy(update={"output": output})
        return canonical(shortened.model_dump(mode="json")).decode()


def mcp_content(envelope: McpEnvelope, structured: JsonValue) -> str:
    """What a model reads: JSON with what matters, at most MAX_CONTENT characters."""
    facts: dict[str, Any] = {"status": envelope.status}
    if envelope.fault:
        facts["fault"] = envelope.fault
    if structured is not None:
        text = _json({**facts, "results": structured})
        if len(text) <= MAX_CONTENT:
            return text
    kept = MAX_CONTENT
    while True:
        text = _json({**facts, "output": head_and_tail(envelope.output.text, kept)})
        if len(text) <= MAX_CONTENT:
            return text
        kept = kept * 3 // 4  # escapes make JSON longer than its text


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()
