"""A report as a page, as Markdown with its pictures, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import PurePosixPath
from urllib.parse import quote

from artificer.artifacts.file import TextFile
from artificer.artifacts.svg.payload import Svg
from artificer.errors import InvariantError
from artificer.render.charts.words import CHARTS
from artificer.render.export.exported import Exported, ExportStep, Files
from artificer.render.export.single import picture_of, pretty, shareable, text_bytes
from artificer.render.html import to_html
from artificer.render.markdown import to_markdown
from artificer.render.narrative import Key
from artificer.values.base import JsonObject, JsonValue

FORMAT = "artificer/deliverable"
VERSION = 1
"""The format of the JSON. A member may be added; one that changes raises the version."""


def html_files(exported: Exported, name: str, step: ExportStep) -> Files:
    """Return the page: one file that needs no other."""
    return {name: to_html(exported.report).encode()}


def markdown_files(exported: Exported, name: str, step: ExportStep) -> Files:
    """Return the report as Markdown, and its pictures and text files in a folder next to it."""
    folder = f"{PurePosixPath(name).stem}.files"
    beside = dict(pictures_and_files(exported, folder, step))
    paths = {key: quote(path) for key, (path, _) in beside.items()}
    written = to_markdown(exported.report, paths).encode()
    return {name: written, **dict(beside.values())}


def json_files(exported: Exported, name: str, step: ExportStep) -> Files:
    """Return the deliverable with the typed payload of each artifact, as one JSON object."""
    return {name: pretty(deliverable_json(exported))}


def pictures_and_files(
    exported: Exported, folder: str, step: ExportStep
) -> Iterator[tuple[Key, tuple[str, bytes]]]:
    """Yield the path and the bytes of each drawing and text file, in the order of their making."""
    artifacts = exported.report.artifacts
    for done, (key, artifact) in enumerate(artifacts.items()):
        step("drawing", done, len(artifacts))
        payload = exported.payloads[key]
        if isinstance(artifact, TextFile):
            yield key, (f"{folder}/files/{artifact.name}", text_bytes(artifact, payload) or b"")
        elif isinstance(artifact, (Svg, *CHARTS)):
            try:
                drawn = picture_of(artifact, exported.report.language)
            except InvariantError:
                continue  # it is shown as its data, which is always there
            yield key, (f"{folder}/{key[0]}/{artifact.id}.svg", (drawn or "").encode())


def deliverable_json(exported: Exported) -> JsonObject:
    """Return the deliverable as JSON: what the page shows, for programs."""
    report = exported.report
    delivered = report.deliverable
    artifacts: list[JsonValue] = [
        {
            "kind": ref.kind,
            "id": ref.id,
            "title": ref.title,
            "tool": ref.tool,
            "digest": ref.payload,
            "payload": shareable(report.artifacts[ref.kind, ref.id], payload),
        }
        for ref in delivered.artifacts
        if (payload := exported.payloads.get((ref.kind, ref.id))) is not None
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": report.title,
        "status": delivered.status,
        "note": delivered.note,
        "message": delivered.message,
        "narrative": delivered.narrative,
        "artifacts": artifacts,
        "findings": [finding.to_json() for finding in delivered.findings],
        "provenance": asdict(report.provenance),
    }
