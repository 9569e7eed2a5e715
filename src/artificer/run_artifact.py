"""The artifacts of a run, as a program reads them."""

from __future__ import annotations

import json

from msgspec import Struct

from artificer.artifacts import catalog
from artificer.artifacts.build_catalog import is_build_tool
from artificer.artifacts.ref import ArtifactRef, MadeKind
from artificer.artifacts.table import Table
from artificer.ports import BlobStore
from artificer.render.charts.words import grid
from artificer.render.tables import table_grid
from artificer.values.base import Digest, JsonObject, JsonValue


class RunArtifact(Struct, frozen=True):
    """An artifact of a run. ``payload`` is its JSON, as the model's call made it.

    ``rows`` are those of a table, or the data of a chart: one mapping a row, from column to cell.
    """

    id: str
    kind: MadeKind
    title: str
    digest: Digest
    payload: JsonObject
    rows: tuple[dict[str, JsonValue], ...] = ()


def load_artifact(ref: ArtifactRef, blobs: BlobStore) -> RunArtifact:
    """Read an artifact from its blob.

    Raises:
        NotFoundError: the blob is gone.
        TamperedError: the blob is not what was written.
    """
    payload: JsonObject = json.loads(blobs.get(ref.payload))
    return RunArtifact(ref.id, ref.kind, ref.title, ref.payload, payload, _rows(ref, payload))


def _rows(ref: ArtifactRef, payload: JsonObject) -> tuple[dict[str, JsonValue], ...]:
    if is_build_tool(ref.tool) or ref.kind not in ("table", "chart"):
        return ()
    artifact = catalog.load(ref.tool, payload)
    shown = table_grid(artifact) if isinstance(artifact, Table) else grid(artifact)  # type: ignore[arg-type]
    return tuple(dict(zip(shown.columns, row, strict=True)) for row in shown.rows)
