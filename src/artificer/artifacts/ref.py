"""References to artifacts, and findings about a narrative."""

from __future__ import annotations

from typing import Literal

from artificer.values.base import Digest, Value

ArtifactKind = Literal["chart", "table", "list", "checklist", "svg", "file"]
"""The six kinds that a placeholder can name (seed 002). Each kind is a namespace of its own."""

BuildArtifactKind = Literal["plan", "spec", "phase", "completion", "judgement"]
"""What the runs of the loops owe (seed 000). No placeholder names these."""

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

    ``id`` is what a placeholder cites: the payload's id, or a file's name. ``tool`` is the
    ``create_*`` tool that made it, ``payload`` the digest of the canonical JSON of its arguments
    (for an artifact of the loops, of what is stored of them).
    """

    kind: MadeKind
    id: str
    tool: str
    title: str = ""
    payload: Digest


class Finding(Value):
    """One thing that a narrative gets wrong, or that a reader should know.

    ``start`` and ``end`` are code point offsets into the narrative, where there is a place to
    point at. ``subject`` is what it is about, such as ``chart:revenue``.
    """

    code: FindingCode
    subject: str
    message: str
    start: int | None = None
    end: int | None = None
