"""Evidence of an HTTP call: what was asked, and what came back (``docs/manifests.md``)."""

from __future__ import annotations

import json
from typing import Any, Literal

from artificer.contracts.command.envelope import MAX_CONTENT, MAX_EVIDENCE, Stream
from artificer.contracts.command.output import Parsed
from artificer.values.base import Digest, JsonObject, Text, Value
from artificer.values.canon import canonical
from artificer.values.text import head_and_tail

HttpOutcome = Literal["success", "client_error", "server_error", "error", "timeout"]


class HttpEnvelope(Value):
    """What an HTTP call did. Secrets are references in all of it, also where a server echoed them.

    ``request`` is its method and URL, ``http_status`` None when there was no response.
    ``output_hash`` is the digest of the body's bytes as they came, ``blob`` where a body too long
    for this envelope is kept, its secrets taken out.
    """

    status: HttpOutcome
    tool: str
    request: Text
    http_status: int | None = None
    content_type: Text = ""
    body: Stream = Stream()
    output_hash: Digest | None = None
    blob: Digest | None = None
    duration_ms: int = 0
    timestamp: str
    fault: Text | None = None

    def to_text(self) -> str:
        """The evidence of a receipt: canonical JSON, its body shortened."""
        body = self.body.model_copy(
            update={
                "text": head_and_tail(self.body.text, MAX_EVIDENCE),
                "truncated": self.body.truncated or len(self.body.text) > MAX_EVIDENCE,
            }
        )
        return canonical(self.model_copy(update={"body": body}).model_dump(mode="json")).decode()


def http_content(envelope: HttpEnvelope, parsed: Parsed | None) -> str:
    """What a model reads: JSON with what matters, at most MAX_CONTENT characters."""
    facts: dict[str, Any] = {"status": envelope.status, "http_status": envelope.http_status}
    if envelope.fault:
        facts["fault"] = envelope.fault
    if parsed is not None and parsed.fault is None:
        text = _json({**facts, "results": parsed.results})
        if len(text) <= MAX_CONTENT:
            return text
    kept = MAX_CONTENT
    while True:
        text = _json({**facts, "body": head_and_tail(envelope.body.text, kept)})
        if len(text) <= MAX_CONTENT:
            return text
        kept = kept * 3 // 4  # escapes make JSON longer than its text


def bare_http_content(envelope: HttpEnvelope, parsed: Parsed | None) -> str:
    """What a model reads where the manifest wants no envelope: results or body, and only that."""
    if envelope.status != "success":
        return http_content(envelope, parsed)
    text = envelope.body.text if parsed is None else _json(parsed.results)
    return head_and_tail(text, MAX_CONTENT - 100)


def http_output_schema(results: JsonObject | None, *, plain: bool) -> JsonObject:
    """The JSON Schema of what :func:`http_content` writes, in every status."""
    properties: JsonObject = {
        "status": {
            "type": "string",
            "enum": ["success", "client_error", "server_error", "error", "timeout"],
        },
        "http_status": {"type": ["integer", "null"]},
        "fault": {"type": "string"},
        "body": {"type": "string"},
    }
    if not plain:
        properties["results"] = results or {}
    return {
        "type": "object",
        "properties": properties,
        "required": ["status", "http_status"],
        "additionalProperties": False,
    }


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()
