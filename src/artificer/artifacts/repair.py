"""Requests to the model to repair an answer that cannot be delivered yet, since rules 2."""

from __future__ import annotations

from artificer.artifacts.deliverable import repair_request
from artificer.artifacts.ref import ArtifactRef, Finding
from artificer.artifacts.withdraw import NAME as WITHDRAW


def repairs_request(
    findings: tuple[Finding, ...], gone: frozenset[str], *, may_withdraw: bool
) -> str:
    """Return a request to repair ``findings``, which are blocking. ``gone`` was withdrawn."""
    named = tuple(_withdrawn(f) if f.subject in gone else f for f in findings)
    request = repair_request(named)
    if may_withdraw and any(finding.code == "missing" for finding in named):
        request += f"\nCall {WITHDRAW} for what you do not want to cite after all."
    return request


def uncited_request(made: tuple[ArtifactRef, ...], *, may_withdraw: bool) -> str:
    """Return a request for an answer that cites the artifacts, when it cites none of them."""
    lines = ["The answer cites none of the artifacts that you made:"]
    lines += [f"{{{{artifact:{ref.kind}:{ref.id}}}}}" for ref in made]
    lines.append(
        "Send the whole answer, with each of these placeholders alone on a line where the reader"
        " should see the artifact, and not in a block of code."
    )
    if may_withdraw:
        lines.append(f"Call {WITHDRAW} first for what shall not be part of the answer.")
    return "\n".join(lines)


def _withdrawn(finding: Finding) -> Finding:
    """Return the finding for a citation of a withdrawn artifact: the text has to change."""
    return finding.replace(code="malformed", message="was withdrawn: take its placeholder out")
