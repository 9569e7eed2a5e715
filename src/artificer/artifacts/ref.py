"""References to artifacts, and findings about a narrative."""

from __future__ import annotations

from typing import Literal, get_args

from artificer.values.base import Digest, Value

ShownKind = Literal["chart", "table", "list", "checklist", "svg", "file"]
"""The six kinds that have a place of their own in a report."""

SHOWN_KINDS: tuple[ShownKind, ...] = get_args(ShownKind)

ArtifactKind = ShownKind | Literal["value"]
"""The kinds that a placeholder can name. Each kind has its own namespace."""

BuildArtifactKind = Literal["plan", "spec", "phase", "completion", "judgement"]
"""The artifacts that the runs of a build deliver. No placeholder names these."""

MadeKind = ArtifactKind | BuildArtifactKind

DeliverableStatus = Literal["completed", "partial", "failed", "cancelled"]

FindingCode = Literal[
    "missing",
    "malformed",
    "unknown_kind",
    "drift",
    "unreferenced",
    "markdown_table",
    "markdown_list",
    "too_long",
    "schema",
]


class ArtifactRef(Value):
    """One accepted artifact of a run.

    ``id`` is the id that a placeholder cites: the payload's id, or a file's name. ``tool`` is the
    ``create_*`` tool that made it, ``payload`` the digest of the canonical JSON of its arguments
    (for an artifact of a build, of its stored form).
    """

    kind: MadeKind
    id: str
    tool: str
    title: str = ""
    payload: Digest


class Finding(Value):
    """A fault of a narrative, or something a reader should know.

    ``start`` and ``end`` are code point offsets into the narrative, if the finding has a place.
    ``subject`` is what it is about, such as ``chart:revenue``.
    """

    code: FindingCode
    subject: str
    message: str
    start: int | None = None
    end: int | None = None


def with_artifact(made: tuple[ArtifactRef, ...], ref: ArtifactRef) -> tuple[ArtifactRef, ...]:
    """Return ``made`` with ``ref`` instead of its namesake, or at the end."""
    if any((r.kind, r.id) == (ref.kind, ref.id) for r in made):
        return tuple(ref if (r.kind, r.id) == (ref.kind, ref.id) else r for r in made)
    return (*made, ref)
