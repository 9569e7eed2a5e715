"""The forms that a report and its artifacts can be exported in, and what makes each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from artificer.artifacts.any_artifact import Artifact
from artificer.errors import OperatorError
from artificer.plugins import load
from artificer.render.export.exported import Exported, ExportStep, Files, quiet
from artificer.values.base import JsonObject

ReportFormat = Literal["pdf", "docx", "html", "md", "zip", "json"]
ArtifactFormat = Literal["csv", "xlsx", "svg", "png", "json", "txt"]


class ExportForm(Struct, frozen=True):
    """One form: the function that makes its bytes, and whether a terminal could show them."""

    maker: str
    media_type: str
    is_text: bool = False


_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_HERE = "artificer.render.export"

REPORT_FORMS: Mapping[ReportFormat, ExportForm] = {
    "pdf": ExportForm(f"{_HERE}.pdf:pdf_files", "application/pdf"),
    "docx": ExportForm(f"{_HERE}.word.file:docx_files", _WORD),
    "html": ExportForm(f"{_HERE}.texts:html_files", "text/html", is_text=True),
    "md": ExportForm(f"{_HERE}.texts:markdown_files", "text/markdown", is_text=True),
    "zip": ExportForm(f"{_HERE}.bundle:zip_files", "application/zip"),
    "json": ExportForm(f"{_HERE}.texts:json_files", "application/json", is_text=True),
}
"""The forms of a report. A maker gets what is exported, the name of the file, and a step."""

ARTIFACT_FORMS: Mapping[ArtifactFormat, ExportForm] = {
    "csv": ExportForm(f"{_HERE}.single:csv_bytes", "text/csv", is_text=True),
    "xlsx": ExportForm(f"{_HERE}.workbook:xlsx_bytes", _EXCEL),
    "svg": ExportForm(f"{_HERE}.single:svg_bytes", "image/svg+xml", is_text=True),
    "png": ExportForm(f"{_HERE}.single:png_bytes", "image/png"),
    "json": ExportForm(f"{_HERE}.single:json_bytes", "application/json", is_text=True),
    "txt": ExportForm(f"{_HERE}.single:text_bytes", "text/plain", is_text=True),
}
"""The forms of an artifact. A maker gets the artifact and its JSON, or returns None if it has no
such form."""


def report_files(
    exported: Exported, form: ReportFormat, name: str, step: ExportStep = quiet
) -> Files:
    """Return the files of a report in a form, by path. The first has the passed name.

    Only Markdown has several: its pictures and text files lie in a folder next to it.

    Raises:
        MissingExtraError: the converter is not installed.
        OperatorError: the converter cannot work here; the hint says what is missing.
    """
    files: Files = load(REPORT_FORMS[form].maker)(exported, name, step)
    return files


def artifact_bytes(artifact: Artifact, payload: JsonObject, form: ArtifactFormat) -> bytes:
    """Return an artifact as a file of the form.

    Raises:
        MissingExtraError: what draws or writes it is not installed.
        OperatorError: this kind of artifact has no such form; the hint names those it has.
        InvariantError: a chart cannot be drawn.
    """
    made: bytes | None = load(ARTIFACT_FORMS[form].maker)(artifact, payload)
    if made is None:
        named = getattr(artifact, "kind", None) or "artifact"
        raise OperatorError(
            f"This {named} cannot be written as {form}.",
            hint=f"Choose one of: {', '.join(forms_of(artifact))}.",
        )
    return made


def forms_of(artifact: Artifact) -> tuple[ArtifactFormat, ...]:
    """Return the forms that an artifact has."""
    known: tuple[ArtifactFormat, ...] = load(f"{_HERE}.single:forms_of")(artifact)
    return known
