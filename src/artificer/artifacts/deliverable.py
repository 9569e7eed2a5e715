"""Deliverables: the checks of a narrative, the request for its repair, and the stored form.

A finding never changes the narrative, with one exception: an id that differs only in case from
an artifact's is rewritten (``drift``).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from artificer.artifacts.markdown import Layout, layout
from artificer.artifacts.placeholder import KINDS, Placeholder, placeholder, scan
from artificer.artifacts.ref import (
    ArtifactKind,
    ArtifactRef,
    DeliverableStatus,
    Finding,
    FindingCode,
    MadeKind,
)
from artificer.values.base import Value
from artificer.values.canon import canonical_typed

MAX_NARRATIVE = 24_000
"""Longest narrative, in code points."""

MAX_FINDINGS = 100
"""Findings listed for one narrative."""

BLOCKING: frozenset[FindingCode] = frozenset(
    {"missing", "malformed", "unknown_kind", "too_long", "markdown_table", "markdown_list"}
)
"""Findings that are sent back to the model for repair."""

DANGLING: frozenset[FindingCode] = frozenset({"missing", "malformed", "unknown_kind", "too_long"})
"""Findings that make a deliverable ``partial`` if they remain at the end (invariant 8)."""


class Deliverable(Value):
    """A narrative with its artifacts: the stored result of a run.

    ``findings`` are those that remain at the end. ``note`` is a sentence that says why the
    deliverable is incomplete, or empty. ``message`` is the model's last text to the reader when
    that is not the narrative, such as a short answer to a follow-up.
    """

    status: DeliverableStatus
    narrative: str
    artifacts: tuple[ArtifactRef, ...] = ()
    findings: tuple[Finding, ...] = ()
    note: str = ""
    message: str = ""

    def canonical(self) -> bytes:
        """Return the stored bytes. An empty message is left out of them."""
        body = self.to_json()
        if not self.message:
            del body["message"]
        return canonical_typed(body)


class Examined(Struct, frozen=True):
    """A narrative after examination.

    ``citations`` are the placeholders that resolve, ``missing`` the well-formed ones that do not.
    """

    narrative: str
    citations: tuple[Placeholder, ...]
    missing: tuple[Placeholder, ...]
    findings: tuple[Finding, ...]


def examine(narrative: str, made: tuple[ArtifactRef, ...]) -> Examined:
    """Check a narrative against the artifacts that were made.

    Offsets in the result are code points of the result's narrative. It is as long as the
    original, because only the case of ids changes.
    """
    places = layout(narrative)
    written, faults = scan(narrative, places)
    narrative, citations, missing, drifts = _resolve(narrative, written, made)
    cited = {(item.kind, item.id) for item in citations}
    absent = [_missing(item, made) for item in missing]
    findings = [*faults, *absent, *drifts, *_markdown(narrative, places)]
    if len(narrative) > MAX_NARRATIVE:
        findings.append(_too_long(narrative))
    findings.sort(key=lambda finding: (finding.code not in BLOCKING, finding.start or 0))
    findings += [
        Finding(
            code="unreferenced",
            subject=f"{ref.kind}:{ref.id}",
            message="was made, but the narrative does not cite it",
        )
        for ref in made
        if (ref.kind, ref.id) not in cited
    ]
    return Examined(narrative, citations, missing, _bounded(findings))


def blocking(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings that require a repair."""
    return tuple(finding for finding in findings if finding.code in BLOCKING)


def dangling(findings: tuple[Finding, ...]) -> bool:
    """Return whether any finding keeps the deliverable from being completed."""
    return any(finding.code in DANGLING for finding in findings)


def keeps(kept: str, revised: str, made: tuple[ArtifactRef, ...]) -> str | None:
    """Return why ``revised`` may not replace ``kept``, or None if it may.

    A revision must keep every citation, even of an artifact that was not made yet, and at least
    half of the prose: a reply such as "Sorry, done." would destroy the report. Markdown tables and
    lists do not count as prose, because they should become artifacts.
    """
    before, after = examine(kept, made), examine(revised, made)
    lost = sorted(_wanted(before) - _wanted(after) - of_another_kind(before, after))
    if lost:
        return f"it no longer cites {', '.join(lost)}"
    prose = min(prose_length(before.narrative), MAX_NARRATIVE)
    if 2 * len(after.narrative.strip()) < prose:
        return f"it has {len(after.narrative.strip())} characters where the kept one has {prose}"
    return None


def repair_request(findings: tuple[Finding, ...]) -> str:
    """Return the request to repair ``findings``, which are blocking ones.

    Faults in the text require the whole corrected text; missing artifacts alone do not.
    """
    missing = [finding for finding in findings if finding.code == "missing"]
    faults = [finding for finding in findings if finding.code != "missing"]
    lines: list[str] = []
    if missing:
        lines.append("The answer cites artifacts that do not exist. Make each with its tool:")
        lines += dict.fromkeys(f"- {finding.subject}: {finding.message}" for finding in missing)
    if not faults:
        lines.append(
            "The text of the answer is kept as it is. Do not write it again; after the calls,"
            " answer with one short sentence."
        )
        return "\n".join(lines)
    lines.append("The text of the answer cannot be delivered like this:")
    lines += dict.fromkeys(f"- {finding.subject}: {finding.message}" for finding in faults)
    lines.append(
        "Send the whole text again with these faults put right. Keep everything else, above all"
        " every placeholder that is there."
    )
    return "\n".join(lines)


def _resolve(
    narrative: str, written: tuple[Placeholder, ...], made: tuple[ArtifactRef, ...]
) -> tuple[str, tuple[Placeholder, ...], tuple[Placeholder, ...], list[Finding]]:
    """Rewrite drifted ids. Return the narrative, resolved and missing placeholders, and drifts."""
    known: dict[tuple[MadeKind, str], str] = {}
    for ref in made:
        known[ref.kind, ref.id.lower()] = ref.id
    parts: list[str] = []
    citations: list[Placeholder] = []
    missing: list[Placeholder] = []
    drifts: list[Finding] = []
    position = 0
    for item in written:
        actual = known.get((item.kind, item.id.lower()))
        if actual is None:
            missing.append(item)
            continue
        if actual != item.id:
            drifts.append(_drift(item, actual))
            at = item.start + narrative[item.start : item.end].rindex(item.id)
            parts += (narrative[position:at], actual)
            position = at + len(actual)
        citations.append(Placeholder(item.kind, actual, item.start, item.end))
    parts.append(narrative[position:])
    return "".join(parts), tuple(citations), tuple(missing), drifts


def _tools_for(kind: ArtifactKind) -> str:
    """Return the tools that make this kind, in words for the model."""
    if kind == "chart":
        return "one of the create_*_chart tools"
    return f"create_{kind}"


def _missing(item: Placeholder, made: tuple[ArtifactRef, ...]) -> Finding:
    member = "name" if item.kind == "file" else "id"
    message = f'call {_tools_for(item.kind)} with {member} "{item.id}"'
    other = next((ref for ref in made if ref.id.lower() == item.id.lower()), None)
    if other is not None and other.kind in KINDS:
        message += f" (a {other.kind} of that id exists: is {other.kind}:{other.id} meant?)"
    return Finding(
        code="missing",
        subject=item.subject,
        message=message,
        start=item.start,
        end=item.end,
    )


def _drift(item: Placeholder, actual: str) -> Finding:
    return Finding(
        code="drift",
        subject=f"{item.kind}:{actual}",
        message=f"was cited as {item.id}; ids are case-sensitive, so the citation was rewritten",
        start=item.start,
        end=item.end,
    )


def _markdown(narrative: str, places: Layout) -> Iterator[Finding]:
    for start, end in places.tables:
        yield Finding(
            code="markdown_table",
            subject=_first_line(narrative[start:end]),
            message=f"make this table with {_tools_for('table')} and put"
            f" {placeholder('table', 'ID')} in its place",
            start=start,
            end=end,
        )
    for start, end in places.lists:
        yield Finding(
            code="markdown_list",
            subject=_first_line(narrative[start:end]),
            message=f"make this list with {_tools_for('list')} and put"
            f" {placeholder('list', 'ID')} in its place",
            start=start,
            end=end,
        )


def _too_long(narrative: str) -> Finding:
    return Finding(
        code="too_long",
        subject="the narrative",
        message=f"has {len(narrative)} characters; at most {MAX_NARRATIVE} are allowed",
        start=MAX_NARRATIVE,
        end=len(narrative),
    )


def _wanted(examined: Examined) -> set[str]:
    return {item.subject.lower() for item in (*examined.citations, *examined.missing)}


def of_another_kind(before: Examined, after: Examined) -> set[str]:
    """Return the subjects that had the wrong kind before and have the right one now."""
    cited = {item.id.lower() for item in after.citations}
    return {item.subject.lower() for item in before.missing if item.id.lower() in cited}


def prose_length(narrative: str) -> int:
    """Return the length without Markdown tables and lists, which should become artifacts."""
    places = layout(narrative)
    moved = sum(end - start for start, end in (*places.tables, *places.lists))
    return len(narrative.strip()) - moved


def _bounded(findings: list[Finding]) -> tuple[Finding, ...]:
    """Return at most MAX_FINDINGS; the last one then gives the number of the others.

    Blocking findings come first, so that the last one is blocking if any omitted one is.
    """
    if len(findings) <= MAX_FINDINGS:
        return tuple(findings)
    kept, left = findings[: MAX_FINDINGS - 1], findings[MAX_FINDINGS - 1 :]
    more = Finding(
        code=left[0].code, subject="the narrative", message=f"has {len(left)} more findings"
    )
    return (*kept, more)


def _first_line(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= 60 else line[:59] + "…"
