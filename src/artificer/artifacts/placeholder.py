"""Placeholders: ``{{artifact:kind:id}}``, the citations of a narrative.

The word ``artifact`` and the kind may be in any case, the id may not. ASCII white space may
surround each part. Text in a code block, a code span or a link definition is not a placeholder,
because a reader sees it as written or not at all.
"""

from __future__ import annotations

import re

from msgspec import Struct

from artificer.artifacts.fields import MAX_ID
from artificer.artifacts.file_name import MAX_NAME, NAME_PATTERN, canonical_name
from artificer.artifacts.markdown import Layout, layout
from artificer.artifacts.ref import SHOWN_KINDS, ArtifactKind, Finding

KINDS: tuple[ArtifactKind, ...] = (*SHOWN_KINDS, "value")

_SPACE = " \t\r\n\f\v"
_HIDDEN = "\x00"
_TOKEN = r"(?ai)(?<!\{)(\{++)\s*+artifact(?![A-Za-z0-9_])([^{}]*+)(\}*+)"
"""Anything that looks like a placeholder. Possessive, so that hostile text costs linear time."""

_ID = rf"[A-Za-z0-9_-]{{1,{MAX_ID}}}"
_NAME = NAME_PATTERN[1:-1]
_MAX_EXCERPT = 80


class Placeholder(Struct, frozen=True):
    """One well-formed placeholder; ``start`` and ``end`` are code point offsets."""

    kind: ArtifactKind
    id: str
    start: int
    end: int

    @property
    def subject(self) -> str:
        """The cited artifact as ``kind:id``."""
        return f"{self.kind}:{self.id}"


def placeholder(kind: ArtifactKind, artifact_id: str) -> str:
    """Return the text that cites an artifact."""
    return f"{{{{artifact:{kind}:{artifact_id}}}}}"


def find(text: str) -> tuple[Placeholder, ...]:
    """Return the well-formed placeholders of a narrative, in order."""
    return scan(text)[0]


def scan(
    text: str, places: Layout | None = None
) -> tuple[tuple[Placeholder, ...], tuple[Finding, ...]]:
    """Return the well-formed placeholders, and findings about malformed ones.

    ``places`` is the layout of ``text``, if the caller has it already.
    """
    if "{" not in text:
        return (), ()
    good: list[Placeholder] = []
    faults: list[Finding] = []
    for match in re.finditer(_TOKEN, _only_visible(text, places or layout(text))):
        result = _read(match)
        if isinstance(result, Placeholder):
            good.append(result)
        elif result:
            faults.append(result)
    return tuple(good), tuple(faults)


def _only_visible(text: str, places: Layout) -> str:
    """Return the text with everything but running text blanked out, at the same offsets."""
    parts: list[str] = []
    position = 0
    for start, end in places.visible:
        parts += (_HIDDEN * (start - position), text[start:end].replace("\x00", "\ufffd"))
        position = end
    return "".join([*parts, _HIDDEN * (len(text) - position)])


def _read(match: re.Match[str]) -> Placeholder | Finding | None:
    opening, body, closing = match.groups()
    parts = body.strip(_SPACE).split(":", 2)
    kind = parts[1].strip(_SPACE).lower() if len(parts) > 1 else ""
    artifact_id = parts[2].strip(_SPACE) if len(parts) > 2 else ""
    if len(opening) == 1 and kind not in KINDS:
        return None
    if fault := _fault_of_braces(opening, closing) or _fault_of_parts(parts):
        return _malformed(match, fault)
    if kind not in KINDS:
        message = f"there is no kind {kind[:_MAX_EXCERPT]!r}; kinds are {', '.join(KINDS)}"
        return Finding(
            code="unknown_kind",
            subject=_excerpt(match),
            message=message,
            start=match.start(),
            end=match.end(),
        )
    if fault := _fault_of_id(kind, artifact_id):
        return _malformed(match, fault)
    known = next(name for name in KINDS if name == kind)
    return Placeholder(kind=known, id=artifact_id, start=match.start(), end=match.end())


def _fault_of_braces(opening: str, closing: str) -> str | None:
    if not closing:
        return "is not closed with }}"
    if len(opening) != 2 or len(closing) != 2:
        return "needs exactly two braces on each side, and none inside"
    return None


def _fault_of_parts(parts: list[str]) -> str | None:
    if parts[0] or len(parts) < 2:
        return "must be written {{artifact:kind:id}}"
    if not parts[1].strip(_SPACE):
        return "has no kind"
    if len(parts) < 3 or not parts[2].strip(_SPACE):
        return "has no id"
    return None


def _fault_of_id(kind: str, artifact_id: str) -> str | None:
    if kind == "file":
        if re.fullmatch(_NAME, artifact_id) and len(artifact_id) <= MAX_NAME:
            return None
        suggestion = canonical_name(artifact_id)
        return "is no possible file name" + (f"; {suggestion} would be" if suggestion else "")
    if re.fullmatch(_ID, artifact_id):
        return None
    return f"has an id that is not 1 to {MAX_ID} letters, digits, _ or -"


def _malformed(match: re.Match[str], message: str) -> Finding:
    end = match.end() if match.group(3) else min(match.end(), match.start() + _MAX_EXCERPT)
    return Finding(
        code="malformed", subject=_excerpt(match), message=message, start=match.start(), end=end
    )


def _excerpt(match: re.Match[str]) -> str:
    return " ".join(match.group().replace(_HIDDEN, "`").split())[:_MAX_EXCERPT]
