"""Drawings that cost more than there is: a report has their words instead, and nothing ends."""

from __future__ import annotations

import io

import docx
import pypdf
import pytest
from export_sample import exported, written

from artificer.artifacts import catalog
from artificer.errors import InvariantError
from artificer.render.export.forms import artifact_bytes
from artificer.values.base import JsonObject
from needs import needs

pytestmark = [
    pytest.mark.req("export-costly"),
    needs("vl_convert", "docx", "weasyprint"),
]

DRAWINGS: dict[str, str] = {
    "a tile": '<svg viewBox="0 0 9 9"><title>The wall</title><pattern id="p" width="1000000"'
    ' height="1000000" patternUnits="userSpaceOnUse"><rect width="1" height="1"/></pattern>'
    '<rect width="9" height="9" fill="url(#p)" opacity="0.5"/></svg>',
    "a line": '<svg viewBox="0 0 1 1000000"><title>The wall</title>'
    '<rect width="1" height="9" opacity="0.5"/></svg>',
    "nothing": '<svg width="1e-300" height="1000000" viewBox="0 0 1 1"><title>The wall</title>'
    '<rect width="1" height="9" opacity="0.5"/></svg>',
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_that_cannot_be_drawn_is_left_out_with_its_words(name: str) -> None:
    arguments: JsonObject = {"svg": {"id": "wall", "content": DRAWINGS[name]}}
    drawing = catalog.load("create_svg", arguments)
    with pytest.raises(InvariantError, match="cannot be written as PNG") as found:
        artifact_bytes(drawing, arguments, "png")
    assert found.value.hint
    source = exported("Before.\n\n{{artifact:svg:wall}}\n\nAfter.", [("create_svg", arguments)])
    document = docx.Document(io.BytesIO(written(source, "docx")))
    pages = pypdf.PdfReader(io.BytesIO(written(source, "pdf"))).pages
    for text in (
        " ".join(paragraph.text for paragraph in document.paragraphs),
        " ".join(page.extract_text() for page in pages),
    ):
        assert "Before." in text and "The wall" in text and "After." in text
