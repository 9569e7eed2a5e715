"""Code with classes for its colours, and mathematics as MathML: both without a script."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markupsafe import Markup
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from artificer.render.template import filled
from artificer.render.text import in_order, straight

_LONGEST = 20_000
"""Longest code with colours, in characters."""

_UNUSUAL = re.compile(r"[^\n]{1000}|\s{200}")
"""Long lines and long spaces: a lexer may look at all of one again from each of its characters."""

_LONGEST_FORMULA = 1_000
_DEEPEST = 24
"""Limits of a formula: its length, and how deep its braces nest. A longer one is shown as code."""

_MATH = "{http://www.w3.org/1998/Math/MathML}"
_ELEMENTS = frozenset(
    (
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "ms",
        "mtext",
        "mspace",
        "mfrac",
        "msqrt",
        "mroot",
        "msub",
        "msup",
        "msubsup",
        "munder",
        "mover",
        "munderover",
        "mtable",
        "mtr",
        "mtd",
        "mstyle",
        "mpadded",
        "mphantom",
        "menclose",
        "mfenced",
    )
)
_ATTRIBUTES = frozenset(
    (
        "display",
        "mathvariant",
        "stretchy",
        "fence",
        "form",
        "separator",
        "accent",
        "accentunder",
        "linethickness",
        "columnalign",
        "rowspacing",
        "columnspacing",
        "minsize",
        "maxsize",
        "movablelimits",
        "displaystyle",
        "scriptlevel",
    )
)

_SPACE = re.compile(r"\d?(\.\d+)?(em|ex|cm)|\d{1,2}(\.\d+)?(px|pt|mm)", re.ASCII)
"""The width of a space that a formula may have."""

_STROKE = "\u29f8"
"""The line that ``\\not`` draws through the next sign."""


def code_html(content: str, language: str) -> Markup:
    """Return a block of code that a keyboard can scroll, coloured if its language is known."""
    content, coloured = in_order(content), None
    if language and len(content) <= _LONGEST and not _UNUSUAL.search(content):
        try:
            lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
        except ClassNotFound:
            lexer = None
        if lexer:
            form = HtmlFormatter(nowrap=True, classprefix="c-")
            ending = "" if content.endswith(("\n", "\r")) else "\n"
            marked = f"\ufeff{content}"  # a lexer drops one such mark: not the code's own
            coloured = Markup(highlight(marked, lexer, form).removesuffix(ending))
    return filled("code", content=content if coloured is None else coloured)


def math_html(formula: str, *, block: bool) -> Markup:
    """Return a formula in LaTeX as MathML, or as code if it cannot be read."""
    tree = None
    if len(formula) <= _LONGEST_FORMULA and formula.count("{") <= _DEEPEST:
        try:
            tree = ElementTree.fromstring(convert(formula, display="block" if block else "inline"))
        except Exception:  # noqa: BLE001  # the converter raises whatever its input makes it
            tree = None
    if tree is None:
        return filled("formula", formula=formula, math=None, block=block)
    math = Markup(ElementTree.tostring(_known(tree), encoding="unicode"))
    return filled("formula", formula=formula, math=math, block=block)


def _known(element: ElementTree.Element) -> ElementTree.Element:
    """Return a copy of known elements and attributes; an unknown element becomes a row."""
    tag = element.tag.removeprefix(_MATH)
    kept = {name: value for name, value in element.attrib.items() if name in _ATTRIBUTES}
    if "width" in element.attrib and _is_harmless(tag, element):
        kept["width"] = element.attrib["width"]
    copy = ElementTree.Element(tag if tag in _ELEMENTS else "mrow", kept)
    copy.text = straight(element.text or "")  # ``\unicode`` and character references name any
    copy.extend(_known(child) for child in element)
    return copy


def _is_harmless(tag: str, element: ElementTree.Element) -> bool:
    """Whether a width cannot put words over other words, such as a digit over a value."""
    if tag == "mspace":
        return _SPACE.fullmatch(element.attrib["width"]) is not None
    return "".join(element.itertext()) == _STROKE
