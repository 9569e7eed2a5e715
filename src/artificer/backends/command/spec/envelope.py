"""Evidence: the envelope that says what a command did (``docs/manifests.md``)."""

from __future__ import annotations

from typing import Any, Literal

from artificer.contracts.evidence import (
    MAX_CONTENT,
    Parsed,
    Stream,
    answer_schema,
    bare,
    evidence_text,
    with_results,
)
from artificer.values.base import Digest, JsonObject, Value
from artificer.values.text import head_and_tail

EnvelopeStatus = Literal["success", "error", "timeout", "dry_run"]
"""``dry_run``: the command was built and not run; no model ever sees it."""


class Envelope(Value):
    """The evidence of a command.

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
        return evidence_text(self, stdout=self.stdout.shortened(), stderr=self.stderr.shortened())


def content_of(envelope: Envelope, parsed: Parsed | None) -> str:
    """Return an envelope as a model reads it: JSON of at most MAX_CONTENT characters.

    Results that are too long for that give way to the head and the tail of the output.
    """
    facts: dict[str, Any] = {"status": envelope.status, "exit_code": envelope.exit_code}
    if envelope.fault:
        facts["fault"] = envelope.fault
    if envelope.notes:
        facts["notes"] = list(envelope.notes)
    if envelope.stderr.text:
        facts["stderr"] = head_and_tail(envelope.stderr.text, MAX_CONTENT // 8)
    return with_results(facts, parsed, "stdout", envelope.stdout.text)


def bare_content_of(envelope: Envelope, parsed: Parsed | None) -> str:
    """Return only the results or the output, for a manifest that wants no envelope.

    A call that did not succeed is shown in full all the same.
    """
    if envelope.status != "success":
        return content_of(envelope, parsed)
    return bare(parsed, envelope.stdout.text)


def output_schema(results: JsonObject | None, *, plain: bool) -> JsonObject:
    """The JSON Schema of what :func:`content_of` writes."""
    return answer_schema(
        ("success", "error", "timeout"),
        "exit_code",
        results,
        plain=plain,
        notes={"type": "array", "items": {"type": "string"}},
        stderr={"type": "string"},
        stdout={"type": "string"},
    )
