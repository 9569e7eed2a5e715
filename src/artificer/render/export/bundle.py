"""Everything of a report in one archive: page, Markdown, JSON, and each artifact's own files."""

from __future__ import annotations

from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.file import TextFile
from artificer.render.export.archive import zipped
from artificer.render.export.exported import Exported, ExportStep, Files
from artificer.render.export.single import csv_bytes, json_bytes, pretty
from artificer.render.export.texts import (
    deliverable_json,
    html_files,
    pictures_and_files,
)
from artificer.render.markdown import to_markdown
from artificer.values.base import JsonObject

FOLDER = "artifacts"


def zip_files(exported: Exported, name: str, step: ExportStep) -> Files:
    """Return the archive. The same report gives the same bytes."""
    return {name: zipped(bundle(exported, step))}


def bundle(exported: Exported, step: ExportStep) -> Files:
    """Return ``report.html``, ``report.md``, ``report.json`` and the files of ``artifacts/``.

    A table and a chart are there as CSV, a chart and a drawing as SVG, a text file as itself, and
    all as JSON but text files.
    """
    drawn = dict(pictures_and_files(exported, FOLDER, step))
    paths = {key: path for key, (path, _) in drawn.items()}
    files = {
        **html_files(exported, "report.html", step),
        "report.md": to_markdown(exported.report, paths).encode(),
        "report.json": pretty(deliverable_json(exported)),
        **dict(drawn.values()),
    }
    for key, artifact in exported.report.artifacts.items():
        files |= _data(artifact, exported.payloads[key], f"{FOLDER}/{key[0]}")
    return dict(sorted(files.items()))


def _data(artifact: Artifact, payload: JsonObject, folder: str) -> Files:
    if isinstance(artifact, TextFile):
        return {}
    files = {f"{folder}/{artifact.id}.json": json_bytes(artifact, payload)}
    if (rows := csv_bytes(artifact, payload)) is not None:
        files[f"{folder}/{artifact.id}.csv"] = rows
    return files
