"""The artifacts of a run, as a program reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from artificer.artifacts import catalog
from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.binding.source_note import source_note_of
from artificer.artifacts.build_catalog import is_build_tool
from artificer.artifacts.ref import ArtifactRef, MadeKind
from artificer.artifacts.ticked import read_payload
from artificer.core.state import RunState
from artificer.errors import NotFoundError, OperatorError
from artificer.ports import BlobStore
from artificer.render.export.forms import ArtifactFormat, artifact_bytes
from artificer.render.export.single import grid_of
from artificer.render.language import language_of
from artificer.values.base import Digest, JsonObject, JsonValue


class RunArtifact(Struct, frozen=True):
    """An artifact of a run. ``payload`` is its JSON, as the model's call made it.

    A checklist's payload includes the ticks made since.

    ``rows`` are those of a table, or the data of a chart: one mapping a row, from column to cell.

    >>> artifact = run.artifacts["revenue"]
    >>> Path("revenue.png").write_bytes(artifact.png())
    """

    id: str
    kind: MadeKind
    title: str
    digest: Digest
    payload: JsonObject
    rows: tuple[dict[str, JsonValue], ...] = ()
    tool: str = ""

    @property
    def binding(self) -> JsonObject | None:
        """The reference to the result that its numbers come from, with its operations.

        None if the model typed them.
        """
        return None if is_build_tool(self.tool) else catalog.binding_of(self.tool, self.payload)

    @property
    def source(self) -> str:
        """The sentence below it that says where its numbers come from; empty without numbers."""
        if is_build_tool(self.tool):
            return ""
        words = language_of(self.title).words
        return source_note_of(self.tool, self.payload, words)

    def csv(self) -> str:
        """Return the rows as CSV that a spreadsheet reads as data, never as formulas.

        Raises:
            OperatorError: a drawing or a file has no rows.
        """
        return self.export("csv").decode()

    def svg(self) -> str:
        """Return the picture of a chart or a drawing. It has no scripts and fetches nothing.

        Raises:
            OperatorError: this artifact has no picture.
        """
        return self.export("svg").decode()

    def png(self) -> bytes:
        """Return the picture of a chart or a drawing as PNG, on white, at twice its size.

        Raises:
            MissingExtraError: it needs the extra ``charts``.
            OperatorError: this artifact has no picture.
        """
        return self.export("png")

    def export(self, format: ArtifactFormat) -> bytes:
        """Return the artifact as a file: ``csv``, ``xlsx``, ``svg``, ``png``, ``json``, ``txt``.

        Raises:
            MissingExtraError: the format needs an extra that is not installed.
            OperatorError: this kind of artifact has no such format; the hint names those it has.
        """
        return artifact_bytes(self._typed(), self.payload, format)

    def _typed(self) -> Artifact:
        if is_build_tool(self.tool):
            raise OperatorError(
                f"The {self.kind} of a build cannot be exported.",
                hint="`payload` holds its JSON.",
            )
        return catalog.load(self.tool, self.payload)


class RunArtifacts(Mapping[str, RunArtifact]):
    """The artifacts of a run by id, in the order they were made.

    If two kinds share an id, both are named ``kind:id``. Each is also found by that name.
    """

    def __init__(self, artifacts: tuple[RunArtifact, ...]) -> None:
        self._by_name = {f"{made.kind}:{made.id}": made for made in artifacts}
        ids = [made.id for made in artifacts]
        self._by_key = {
            made.id if ids.count(made.id) == 1 else name: made
            for name, made in self._by_name.items()
        }

    def __getitem__(self, key: str) -> RunArtifact:
        """Return the artifact of an id, or of ``kind:id``. Raises KeyError."""
        return self._by_key[key] if key in self._by_key else self._by_name[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids."""
        return iter(self._by_key)

    def __len__(self) -> int:
        """Count the artifacts."""
        return len(self._by_key)

    def __repr__(self) -> str:
        """Name the artifacts: their kinds by their keys."""
        return (
            f"<{', '.join(f'{key}: {made.kind}' for key, made in self.items()) or 'no artifacts'}>"
        )

    def find(self, key: str) -> RunArtifact:
        """Return the artifact of an id, or of ``kind:id``.

        Raises:
            NotFoundError: there is none; the hint names those that there are.
        """
        try:
            return self[key]
        except KeyError as error:
            known = ", ".join(self) or "none"
            raise NotFoundError(
                f"The run has no artifact {key!r}.", hint=f"It has: {known}."
            ) from error


def load_artifact(ref: ArtifactRef, state: RunState, blobs: BlobStore) -> RunArtifact:
    """Read an artifact of a run from its blob; a checklist includes people's ticks.

    Raises:
        NotFoundError: the blob is gone.
        TamperedError: the blob is not what was written.
    """
    payload = read_payload(ref, blobs.get(ref.payload), state.ticks)
    return RunArtifact(
        ref.id, ref.kind, ref.title, ref.payload, payload, _rows(ref, payload), ref.tool
    )


def _rows(ref: ArtifactRef, payload: JsonObject) -> tuple[dict[str, JsonValue], ...]:
    if is_build_tool(ref.tool) or ref.kind not in ("table", "chart"):
        return ()
    shown = grid_of(catalog.load(ref.tool, payload))
    if shown is None:
        return ()
    return tuple(dict(zip(shown.columns, row, strict=True)) for row in shown.rows)
