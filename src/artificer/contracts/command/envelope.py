"""Evidence: the envelope that says what a command did (``docs/manifests.md``)."""

from __future__ import annotations

import json
from typing import Any, Literal

from artificer.contracts.command.output import Parsed
from artificer.values.base import Digest, JsonObject, Value
from artificer.values.canon import canonical_typed
from artificer.values.text import head_and_tail

MAX_CONTENT = 32_000
"""Characters of an outcome that a model is given."""

MAX_EVIDENCE = 16_000
"""Characters of each stream that an envelope holds."""

EnvelopeStatus = Literal["success", "error", "timeout", "dry_run"]
"""``dry_run``: the command was built and not run; no model ever sees it."""


class Stream(Value):
    """What came out of one stream: ``text`` is its head and tail, ``size`` all of its bytes."""

    text: str = ""
    size: int = 0
    truncated: bool = False

    @property
    def is_shortened(self) -> bool:
        """Whether an envelope holds less than all of it."""
        return self.truncated or len(self.text) > MAX_EVIDENCE


class Envelope(Value):
    """What a command did.

    ``output_hash`` is the digest of every byte of its standard output, also of those not kept.
    ``exit_code`` is negative for a signal's number, and None when the program did not start or
    did not end by itself. ``timestamp`` is when it was started, RFC 3339 in UTC. ``left_behind``
    counts the processes it left running, which have been ended. ``scan_id`` is the id that the
    program was given of this call. ``output_file`` is the file that it wrote for us, and
    ``output_blobs`` are its standard output, whole and in pieces, when it is more than is kept
    here. ``notes`` say what was changed of the arguments. ``sandbox`` is what held the program.
    """

    status: EnvelopeStatus
    tool: str
    command: tuple[str, ...]
    exit_code: int | None = None
    stdout: Stream = Stream()
    stderr: Stream = Stream()
    output_hash: Digest | None = None
    duration_ms: int = 0
    timestamp: str
    left_behind: int = 0
    fault: str | None = None
    scan_id: str = ""
    output_file: str | None = None
    output_blobs: tuple[Digest, ...] = ()
    notes: tuple[str, ...] = ()
    sandbox: str | None = None

    def to_text(self) -> str:
        """The evidence of a receipt: canonical JSON, its streams shortened."""
        facts = self.model_dump(mode="json")
        for name, stream in (("stdout", self.stdout), ("stderr", self.stderr)):
            facts[name]["text"] = head_and_tail(stream.text, MAX_EVIDENCE)
            facts[name]["truncated"] = stream.is_shortened
        return canonical_typed(facts).decode()


def content_of(envelope: Envelope, parsed: Parsed | None) -> str:
    """What a model reads of an envelope: JSON with what matters, at most MAX_CONTENT characters.

    Results that are too long for that give way to the head and the tail of the output.
    """
    facts: dict[str, Any] = {"status": envelope.status, "exit_code": envelope.exit_code}
    if envelope.fault:
        facts["fault"] = envelope.fault
    if envelope.notes:
        facts["notes"] = list(envelope.notes)
    if envelope.stderr.text:
        facts["stderr"] = head_and_tail(envelope.stderr.text, MAX_CONTENT // 8)
    if parsed is not None and parsed.fault is None:
        text = _json({**facts, "results": parsed.results})
        if len(text) <= MAX_CONTENT:
            return text
    kept = MAX_CONTENT
    while True:
        text = _json({**facts, "stdout": head_and_tail(envelope.stdout.text, kept)})
        if len(text) <= MAX_CONTENT:
            return text
        kept = kept * 3 // 4  # escapes make JSON longer than its text


def bare_content_of(envelope: Envelope, parsed: Parsed | None) -> str:
    """What a model reads where the manifest wants no envelope: results or output, and only that.

    A call that did not succeed is told in full all the same.
    """
    if envelope.status != "success":
        return content_of(envelope, parsed)
    text = envelope.stdout.text if parsed is None else _json(parsed.results)
    return head_and_tail(text, MAX_CONTENT - 100)


def output_schema(results: JsonObject | None, *, plain: bool) -> JsonObject:
    """The JSON Schema of what :func:`content_of` writes, in every status.

    ``results`` is the manifest's schema of them, ``plain`` whether the output is plain text.
    Results that are too long give way to ``stdout``, so neither is always there.
    """
    properties: JsonObject = {
        "status": {"type": "string", "enum": ["success", "error", "timeout"]},
        "exit_code": {"type": ["integer", "null"]},
        "fault": {"type": "string"},
        "notes": {"type": "array", "items": {"type": "string"}},
        "stderr": {"type": "string"},
        "stdout": {"type": "string"},
    }
    if not plain:
        properties["results"] = results or {}
    return {
        "type": "object",
        "properties": properties,
        "required": ["status", "exit_code"],
        "additionalProperties": False,
    }


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def _json(value: Any) -> str:
    # Not canonical: results may hold integers beyond 2**53, and are only read, never digested.
    return _ENCODER.encode(value).encode("utf-8", "replace").decode()
