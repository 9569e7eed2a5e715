"""A report as tagged PDF, by WeasyPrint: a document that assistive technology can read.

The converter is passed the page as text with a style sheet of its own. Only ``data:`` addresses
can be resolved, so nothing is fetched and no file is read.
"""

from __future__ import annotations

import base64
import contextlib
import io
import logging
import warnings
from typing import Any
from xml.etree.ElementTree import Element, SubElement, fromstring

from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.svg.payload import Svg
from artificer.errors import InvariantError, MissingExtraError, OperatorError
from artificer.plugins import load
from artificer.render import export
from artificer.render.export.exported import Exported, ExportStep, Files
from artificer.render.export.kept import VARIANT, finish
from artificer.render.export.opaque import needs_pixels, opaque
from artificer.render.export.paper import is_rtl, paper
from artificer.render.export.single import picture_of, to_png
from artificer.render.export.tree import written
from artificer.render.report import Provenance, Report
from artificer.system.files import packaged

_PNG = "data:image/png;base64,"
_SHARP = 3.0
"""Pixels of a picture for each pixel of the drawing."""


def pdf_files(exported: Exported, name: str, step: ExportStep) -> Files:
    """Return the report as one PDF. The same report gives the same bytes.

    Raises:
        MissingExtraError: the extra ``pdf`` is not installed.
        OperatorError: a library of the system that it needs is not there.
    """
    html, fetcher = _converter()
    step("laying out", 0, 0)
    root = paper(exported.report)
    _styled(root)
    _described(root, exported.report.provenance)
    _drawn(root, exported.report)
    _flat(root)
    page = html(string=f"<!DOCTYPE html>{written(root)}", url_fetcher=_closed(fetcher))
    with _silent():
        identifier = exported.report.provenance.digest.removeprefix("sha256:")[:32].encode()
        document = page.write_pdf(
            finisher=finish, pdf_variant=VARIANT, pdf_identifier=identifier or None
        )
    return {name: bytes(document)}


def _converter() -> tuple[Any, Any]:
    """Return WeasyPrint's classes for a document and for what fetches."""
    with _silent():
        try:
            return load("weasyprint:HTML"), load("weasyprint.urls:URLFetcher")
        except ImportError as error:
            raise MissingExtraError("pdf", needed_for="Writing a PDF") from error
        except OSError as error:
            raise OperatorError(
                f"Writing a PDF needs the library Pango, which cannot be loaded: {error}.",
                hint="apt-get install libpango-1.0-0 libpangoft2-1.0-0, or brew install pango",
            ) from error


def _closed(fetcher: Any) -> Any:
    """Return a fetcher that knows only ``data:``, which holds what it names."""
    return fetcher(allowed_protocols=("data",), allow_redirects=False)


@contextlib.contextmanager
def _silent() -> Any:
    """Keep the converter's remarks about our style sheet, and its advice, from the user."""
    logger = logging.getLogger("weasyprint")
    before, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.disabled = before


def _styled(root: Element) -> None:
    head = root.find("head")
    style = SubElement(root if head is None else head, "style")
    style.text = packaged(export, "paper.css")


def _described(root: Element, provenance: Provenance) -> None:
    """Add when the report was made; without it the file would say when it was written."""
    head = root.find("head")
    if head is not None and provenance.created:
        for name in ("dcterms.created", "dcterms.modified"):
            SubElement(head, "meta", {"name": name, "content": provenance.created})


def _drawn(root: Element, report: Report) -> None:
    """Make each drawing one that PDF/A can hold, and that the converter writes well.

    It writes right-to-left text from the left, so such a drawing becomes a picture of pixels.
    """
    anchors = {name.anchor: report.artifacts[name.key] for name in report.names.values()}
    for figure in root.iter("figure"):
        artifact = anchors.get(figure.get("id", ""))
        drawn = None if artifact is None else _drawing(artifact, report)
        if drawn is None:
            continue
        is_chart = not isinstance(artifact, Svg)
        if any(map(is_rtl, drawn)) or (not is_chart and needs_pixels(fromstring(drawn))):
            _as_pixels(figure, drawn, is_ours=is_chart)
        elif is_chart:
            for svg in figure.iter("svg"):
                opaque(svg)


def _as_pixels(figure: Element, drawn: str, *, is_ours: bool) -> None:
    """Replace a drawing by a picture of it; without the extra ``charts`` it stays as it is.

    A drawing that cannot be drawn becomes the words that describe it.
    """
    try:
        picture = to_png(drawn, _SHARP, is_ours=is_ours)
    except MissingExtraError:
        return
    except InvariantError:
        picture = None
    for parent in figure.iter():
        for child in list(parent):
            if child.tag in ("svg", "img"):
                words = child.get("alt") or child.findtext("title") or ""
                child[:] = []
                child.attrib.clear()
                child.tag, child.text = ("p", words) if picture is None else ("img", None)
                if picture is not None:
                    child.attrib |= {"alt": words, "src": _PNG + _base64(picture)}


def _flat(root: Element) -> None:
    """Put each picture of pixels on white paper, in the colours of a screen."""
    opened = load("PIL.Image:open")
    for image in root.iter("img"):
        kind, _, data = image.get("src", "").partition(";base64,")
        if kind.startswith("data:image/") and "svg" not in kind:
            picture = opened(io.BytesIO(base64.b64decode(data))).convert("RGBA")
            paper = load("PIL.Image:new")("RGBA", picture.size, "white")
            written = io.BytesIO()
            load("PIL.Image:alpha_composite")(paper, picture).convert("RGB").save(written, "PNG")
            image.set("src", _PNG + _base64(written.getvalue()))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _drawing(artifact: Artifact, report: Report) -> str | None:
    try:
        return picture_of(artifact, report.language)
    except InvariantError:
        return None
