"""Pictures of the document: charts, drawings, attached images."""

from __future__ import annotations

import base64
import io
import re
import struct
from xml.etree.ElementTree import Element

from docx.image.exceptions import InvalidImageStreamError, UnrecognizedImageError
from docx.shared import Emu, Inches
from docx.text.paragraph import Paragraph

from artificer.artifacts.any_artifact import Artifact
from artificer.artifacts.svg.payload import Svg
from artificer.errors import InvariantError, MissingExtraError
from artificer.render.charts.summary import summary
from artificer.render.charts.words import CHARTS
from artificer.render.export.single import SHARPNESS, png_of
from artificer.render.export.word.styles import TEXT_HEIGHT, TEXT_WIDTH
from artificer.render.export.word.xml import describe_picture
from artificer.render.language import Language
from artificer.render.text import clean

_EMBEDDED = re.compile(r"data:image/(?:png|jpeg|gif);base64,([A-Za-z0-9+/=]+)")
_PIXELS_PER_INCH = 96
_UNUSABLE = (
    InvalidImageStreamError,
    UnrecognizedImageError,
    struct.error,
    ArithmeticError,
    LookupError,
    ValueError,
)
"""The errors that a damaged image raises."""


def add(paragraph: Paragraph, element: Element, artifact: Artifact | None, ui: Language) -> None:
    """Add the picture that an element of the page shows; if it cannot be, its description."""
    words = clean(element.get("alt", "")) or _title(element)
    is_own = isinstance(artifact, (Svg, *CHARTS))
    data = _drawn(artifact, ui) if is_own else _embedded(element)
    if data is None:
        paragraph.add_run(words)
        return
    if isinstance(artifact, CHARTS):
        words = ". ".join(filter(None, (words, summary(artifact, ui))))
    run = paragraph.add_run()
    paragraph.paragraph_format.keep_together = True
    try:
        shape = run.add_picture(io.BytesIO(data))
    except _UNUSABLE:
        paragraph.add_run(words)
        return
    width, height = float(shape.width), float(shape.height)
    if is_own:
        size = Inches(1) / _PIXELS_PER_INCH / SHARPNESS
        width, height = (pixels * size for pixels in _pixels(data))
    scale = min(1.0, TEXT_WIDTH / width, TEXT_HEIGHT / height)
    shape.width, shape.height = Emu(int(width * scale)), Emu(int(height * scale))
    describe_picture(run, words[:200], words)


def _drawn(artifact: Artifact | None, ui: Language) -> bytes | None:
    try:
        return None if artifact is None else png_of(artifact, ui)
    except (MissingExtraError, InvariantError):
        return None


def _embedded(element: Element) -> bytes | None:
    found = _EMBEDDED.fullmatch(element.get("src", ""))
    return base64.b64decode(found[1]) if found else None


def _pixels(png: bytes) -> tuple[int, int]:
    """Return the size of a PNG, which its first chunk holds."""
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def _title(element: Element) -> str:
    return clean(element.findtext("title") or "")
