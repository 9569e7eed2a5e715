"""A report as a DOCX file: the entry, which needs the extra ``docx``."""

from __future__ import annotations

from artificer.errors import MissingExtraError
from artificer.plugins import load
from artificer.render.export.exported import Exported, ExportStep, Files


def docx_files(exported: Exported, name: str, step: ExportStep) -> Files:
    """Return the report as one Word document. The same report gives the same bytes.

    Raises:
        MissingExtraError: the extra ``docx`` is not installed.
        OperatorError: the clock of the machine says a year that an archive cannot have.
    """
    try:
        write = load("artificer.render.export.word.document:document_bytes")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("docx", "lxml"):
            raise
        raise MissingExtraError("docx", needed_for="Writing a Word document") from error
    return {name: write(exported, step)}
