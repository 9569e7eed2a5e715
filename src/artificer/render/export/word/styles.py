"""The look of the document: fonts, headings, captions, code, margins."""

from __future__ import annotations

from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Cm, Pt, RGBColor
from docx.styles.style import ParagraphStyle

from artificer.render.export.word.xml import set_fonts

TEXT, HEADINGS, CODE = "Arial", "Georgia", "Courier New"
"""Fonts that Windows and macOS have, and for which LibreOffice knows one of the same widths."""

INK, SOFT, LINK = RGBColor(0x1B, 0x20, 0x26), RGBColor(0x5A, 0x64, 0x70), RGBColor(0x0B, 0x4D, 0x91)

TEXT_WIDTH = Cm(16.6)
TEXT_HEIGHT = Cm(22)
_OWN = {"Small": (8.5, SOFT), "Cell": (9, INK), "Small cell": (6, INK), "Code": (8.5, INK)}
_SIZES = {1: 24, 2: 16, 3: 12.5, 4: 11, 5: 11, 6: 11}


def set_up(document: Document, language: str) -> None:
    """Give a new document its page, its language and its styles."""
    section = document.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2.2)
    section.top_margin, section.bottom_margin = Cm(2.2), Cm(2.4)
    _set_language(document, language)
    normal = _style(document, "Normal")
    _font(normal, TEXT, 10.5, INK)
    normal.paragraph_format.space_after = Pt(7)
    normal.paragraph_format.line_spacing = 1.25
    for level, size in _SIZES.items():
        heading = _style(document, f"Heading {level}")
        _font(heading, HEADINGS if level < 3 else TEXT, size, INK)
        heading.font.bold, heading.font.italic = True, False
        heading.paragraph_format.space_before = Pt(0 if level == 1 else 16)
        heading.paragraph_format.space_after = Pt(6)
    caption = _style(document, "Caption")
    _font(caption, TEXT, 10, INK)
    caption.paragraph_format.space_before = Pt(10)
    caption.paragraph_format.keep_with_next = True
    quote = _style(document, "Quote")
    _font(quote, TEXT, 10.5, SOFT)
    quote.paragraph_format.left_indent = Cm(0.8)
    for name, (size, colour) in _OWN.items():
        made = document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
        assert isinstance(made, ParagraphStyle)
        made.base_style = normal
        _font(made, CODE if name == "Code" else TEXT, size, colour)
        made.paragraph_format.space_after = Pt(2)
        made.paragraph_format.line_spacing = 1.1


def _style(document: Document, name: str) -> ParagraphStyle:
    found = document.styles[name]
    assert isinstance(found, ParagraphStyle)
    return found


def _font(style: ParagraphStyle, name: str, size: float, colour: RGBColor) -> None:
    style.font.size, style.font.color.rgb = Pt(size), colour
    set_fonts(style.element.get_or_add_rPr(), name)


def _set_language(document: Document, language: str) -> None:
    """Set the language that a screen reader speaks and a spelling check expects."""
    for properties in document.styles.element.iter(qn("w:rPrDefault")):
        for run in properties.iter(qn("w:rPr")):
            for old in run.findall(qn("w:lang")):
                run.remove(old)
            made = OxmlElement("w:lang")
            for name in ("w:val", "w:eastAsia", "w:bidi"):
                made.set(qn(name), language)
            run.append(made)
