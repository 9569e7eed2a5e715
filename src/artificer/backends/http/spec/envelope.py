"""Evidence of an HTTP call: what was asked, and what came back (``docs/manifests.md``)."""

from __future__ import annotations

from typing import Any, Literal

from artificer.contracts.evidence import (
    Parsed,
    Stream,
    answer_schema,
    bare,
    evidence_text,
    with_results,
)
from artificer.values.base import Digest, JsonObject, Text, Value

HttpOutcome = Literal["success", "client_error", "server_error", "error", "timeout"]


class HttpEnvelope(Value):
    """The evidence of an HTTP call. Secrets are references, also where a server echoed them.

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
        return evidence_text(self, body=self.body.shortened())


def http_content(envelope: HttpEnvelope, parsed: Parsed | None) -> str:
    """Return the model's JSON: the facts that matter, at most MAX_CONTENT characters."""
    facts: dict[str, Any] = {"status": envelope.status, "http_status": envelope.http_status}
    if envelope.fault:
        facts["fault"] = envelope.fault
    return with_results(facts, parsed, "body", envelope.body.text)


def bare_http_content(envelope: HttpEnvelope, parsed: Parsed | None) -> str:
    """Return only the results or the body, for a manifest that wants no envelope."""
    if envelope.status != "success":
        return http_content(envelope, parsed)
    return bare(parsed, envelope.body.text)


def http_output_schema(results: JsonObject | None, *, plain: bool) -> JsonObject:
    """The JSON Schema of what :func:`http_content` writes, in every status."""
    statuses = ("success", "client_error", "server_error", "error", "timeout")
    return answer_schema(statuses, "http_status", results, plain=plain, body={"type": "string"})
