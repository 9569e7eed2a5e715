"""The versions of a report and of its artifacts, and what changed between two of them."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from artificer.errors import NotFoundError
from artificer.run_artifact import RunArtifact
from artificer.runs import History
from artificer.studio.api.declared import MAX_NAME, ApiRequest
from artificer.studio.artifact_changes import artifact_change
from artificer.studio.prose import prose_diff
from artificer.studio.versions import (
    ArtifactVersion,
    ReportVersion,
    RunVersions,
    chosen_version,
    read_version,
    versions,
)
from artificer.studio.views.artifacts import pair
from artificer.studio.views.reports import chosen, fates_of

VersionNumber = Annotated[int, Meta(ge=1, le=1_000_000)]

NamedArtifact = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]


class CauseAnswer(Struct, frozen=True):
    """A message to the model that a version answers: its sender, and its record."""

    what: str
    text: str
    by: str
    record: int


class VersionEntry(Struct, frozen=True):
    """A version of the report, or of the artifact ``name`` (``kind:id``).

    ``digest`` is that of its payload, empty for a report and for a withdrawal.
    """

    name: str
    number: int
    record: int
    turn: int
    at: int
    model: str
    cause: CauseAnswer
    title: str = ""
    digest: str = ""
    withdrawn: bool = False


class VersionList(Struct, frozen=True):
    """All versions, oldest first."""

    report: tuple[VersionEntry, ...]
    artifacts: tuple[VersionEntry, ...]


class ReportVersionAnswer(Struct, frozen=True):
    """A version of the report: its narrative with placeholders."""

    number: int
    narrative: str


class FactDifference(Struct, frozen=True):
    """A member that has another value, such as the title."""

    name: str
    before: str
    after: str


class ColumnDifference(Struct, frozen=True):
    """A column, and whether both versions have it."""

    name: str
    kind: str


class CellDifference(Struct, frozen=True):
    """A cell before and after."""

    kind: str
    before: str
    after: str


class RowDifference(Struct, frozen=True):
    """A row that was added, removed or changed."""

    kind: str
    cells: tuple[CellDifference, ...]


class TextDifference(Struct, frozen=True):
    """A line, or words, that both versions have or only one; a ``note`` says what is left out."""

    kind: str
    text: str


class ArtifactDifference(Struct, frozen=True):
    """The changes from one version of an artifact to another, depending on its kind.

    ``same`` counts the rows that both have, ``cut`` those that were not compared.
    """

    before: int
    after: int
    facts: tuple[FactDifference, ...]
    columns: tuple[ColumnDifference, ...]
    rows: tuple[RowDifference, ...]
    same: int
    cut: int
    lines: tuple[TextDifference, ...]


class ParagraphDifference(Struct, frozen=True):
    """A paragraph, and the words of it that both versions have or only one."""

    kind: str
    pieces: tuple[TextDifference, ...]


class ArtifactFateAnswer(Struct, frozen=True):
    """An artifact (``kind:id``) that is new, changed or withdrawn."""

    kind: str
    name: str
    title: str


class ReportDifference(Struct, frozen=True):
    """The changes from one version of a report to another."""

    before: int
    after: int
    paragraphs: tuple[ParagraphDifference, ...]
    artifacts: tuple[ArtifactFateAnswer, ...]


class ReportVersionQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The number of the version; without it, the newest."""

    version: VersionNumber | None = None


class ArtifactVersionQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The artifact as ``kind:id``, and the number of the version; without it, the newest."""

    artifact: NamedArtifact
    version: VersionNumber | None = None


class ReportChangesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of two versions; without them, the newest and the one before it."""

    before: VersionNumber | None = None
    after: VersionNumber | None = None


class ArtifactChangesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The artifact as ``kind:id``, and the numbers of two versions, as of a report."""

    artifact: NamedArtifact
    before: VersionNumber | None = None
    after: VersionNumber | None = None


async def list_versions(request: ApiRequest) -> VersionList:
    """List the versions of a run's report and of its artifacts, with what each answers."""
    _, found = await _versions(request)
    made = [version for kept in found.artifacts.items() for version in _entries(*kept)]
    return VersionList(tuple(map(_report_entry, found.reports)), tuple(made))


async def show_report_version(request: ApiRequest) -> ReportVersionAnswer:
    """Show a version of the report."""
    _, found = await _versions(request)
    version = chosen(_reports(found), _number(request.query.version))
    return ReportVersionAnswer(version.number, version.narrative)


async def show_artifact_version(request: ApiRequest) -> RunArtifact:
    """Show a version of an artifact with its payload: a checklist with its ticks until then."""
    history, found = await _versions(request)
    kept = _artifact(found, request.query.artifact)
    return read_version(history, chosen_version(kept, _number(request.query.version)))


async def compare_artifact(request: ApiRequest) -> ArtifactDifference:
    """Show what changed between two versions of an artifact."""
    query: ArtifactChangesQuery = request.query
    history, found = await _versions(request)
    numbers = {"a": _number(query.before), "b": _number(query.after)}
    one, other = pair(_artifact(found, query.artifact), numbers)
    before, after = read_version(history, one), read_version(history, other)
    change = await asyncio.to_thread(artifact_change, before, after)
    grid = change.grid
    rows = [
        RowDifference(row.kind, tuple(CellDifference(*cell) for cell in row.cells))
        for row in (grid.rows if grid else ())
    ]
    return ArtifactDifference(
        one.number,
        other.number,
        tuple(FactDifference(*fact) for fact in change.facts),
        tuple(ColumnDifference(*column) for column in grid.columns) if grid else (),
        tuple(rows),
        grid.same if grid else 0,
        grid.cut if grid else 0,
        tuple(TextDifference(*line) for line in change.lines),
    )


async def compare_report(request: ApiRequest) -> ReportDifference:
    """Show what changed between two versions of the report: its words and its artifacts."""
    query: ReportChangesQuery = request.query
    history, found = await _versions(request)
    kept = _reports(found)
    other = chosen(kept, _number(query.after))
    one = chosen(kept, _number(query.before) or str(max(1, other.number - 1)))
    compared = await asyncio.to_thread(prose_diff, one.narrative, other.narrative)
    fates = fates_of(history.run.id, one, other, found.artifacts)
    return ReportDifference(
        one.number,
        other.number,
        tuple(
            ParagraphDifference(part.kind, tuple(TextDifference(*piece) for piece in part.pieces))
            for part in compared
        ),
        tuple(ArtifactFateAnswer(fate.word, fate.name, fate.title) for fate in fates),
    )


async def _versions(request: ApiRequest) -> tuple[History, RunVersions]:
    history = await request.world.archive.history(request.named("run"))
    return history, versions(history.lines, history.data)


def _reports(found: RunVersions) -> list[ReportVersion]:
    if not found.reports:
        raise NotFoundError("The run has written no report yet.")
    return found.reports


def _artifact(found: RunVersions, name: str) -> list[ArtifactVersion]:
    kept = found.of(name)
    if not kept:
        known = ", ".join(":".join(key) for key in list(found.artifacts)[:20])
        raise NotFoundError("The run has made no such artifact.", hint=f"It has {known or 'none'}.")
    return kept


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


def _report_entry(version: ReportVersion) -> VersionEntry:
    return _entry("report", version)


def _entries(key: tuple[str, str], kept: list[ArtifactVersion]) -> list[VersionEntry]:
    name = ":".join(key)
    return [
        _entry(name, one, title=one.ref.title, digest=one.ref.payload)
        if one.ref
        else _entry(name, one, withdrawn=True)
        for one in kept
    ]


def _entry(
    name: str,
    version: ArtifactVersion | ReportVersion,
    *,
    title: str = "",
    digest: str = "",
    withdrawn: bool = False,
) -> VersionEntry:
    return VersionEntry(
        name,
        version.number,
        version.seq,
        version.turn,
        version.at,
        version.model,
        CauseAnswer(*version.cause),
        title,
        digest,
        withdrawn,
    )
