"""The whole document: its styles, its properties and its content."""

from __future__ import annotations

import io
import time
from datetime import UTC, datetime

import docx
from docx.document import Document

from artificer.errors import OperatorError
from artificer.render.export.archive import repacked
from artificer.render.export.exported import Exported, ExportStep
from artificer.render.export.paper import main_of, paper
from artificer.render.export.word.styles import set_up
from artificer.render.export.word.writer import Context, WordWriter
from artificer.render.report import Report
from artificer.render.text import one_line


def document_bytes(exported: Exported, step: ExportStep) -> bytes:
    """Return the document."""
    root = paper(exported.report)
    language = root.get("lang", "en")
    document = docx.Document()
    _remove_thumbnail(document)
    set_up(document, language)
    _describe(document, exported.report, language)
    main = main_of(root)
    writer = WordWriter(document, exported.report, main, step)
    writer.flow(main, Context(document, is_rtl=root.get("dir") == "rtl"))
    _check_clock()
    out = io.BytesIO()
    document.save(out)
    return repacked(out.getvalue())


def _check_clock() -> None:
    """Refuse a time that the library cannot write into the archive. It is taken out again."""
    year = time.localtime(time.time()).tm_year
    if not 1980 <= year <= 2107:
        raise OperatorError(
            f"The clock of this machine says {year}: a Word file needs a year from 1980 to 2107.",
            hint="Set the clock, or choose another format.",
        )


def _remove_thumbnail(document: Document) -> None:
    """Remove the picture of the library's own empty document."""
    relations = document.part.package.rels
    for name in [name for name, found in relations.items() if "thumbnail" in found.reltype]:
        del relations[name]


def _describe(document: Document, report: Report, language: str) -> None:
    """Set title, language and times: those of the report, so that the bytes are always the same."""
    properties = document.core_properties
    properties.title = one_line(report.title)[:255]
    properties.author = properties.last_modified_by = "Artificer"
    properties.comments = f"artificer replay {report.provenance.run}"[:255]
    properties.language = language
    properties.revision = 1
    properties.created = properties.modified = _made(report.provenance.created)


def _made(created: str) -> datetime:
    try:
        return datetime.fromisoformat(created).astimezone(UTC).replace(tzinfo=None)
    except ValueError:
        return datetime(1980, 1, 1)  # noqa: DTZ001  # the format has no time zone
