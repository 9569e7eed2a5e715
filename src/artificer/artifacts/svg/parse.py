"""Parsing SVG: hostile markup becomes a small tree, or a problem with its line.

The parser is expat with every dangerous feature off. A document type with declarations, an entity
declaration or a processing instruction ends the parsing before anything is expanded. A document
type that only refers to a definition is ignored, because nothing is fetched. HTML entities become
characters first. Names are expanded names, so that no prefix can disguise one. Limits are enforced
while parsing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from html.entities import html5
from xml.parsers import expat

from artificer.values.base import Problem

SVG = "http://www.w3.org/2000/svg"

MAX_BYTES = 256_000
"""Bytes of UTF-8; the 64,000 characters of the tool's schema always fit."""

MAX_ELEMENTS = 4_000
MAX_DEPTH = 32
MAX_ATTRIBUTES = 48
"""Attributes of one element."""

_ENTITY = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|&([A-Za-z][A-Za-z0-9]{1,31};)", re.DOTALL
)
_OWN = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})
"""The entities that XML defines itself."""

_SEPARATOR = " "
"""Separator of namespace and local name; neither can contain a space."""


@dataclass
class Element:
    """An element as written. ``namespace`` is "" if it has none."""

    namespace: str
    name: str
    attributes: dict[tuple[str, str], str]
    line: int
    children: list[Element | str] = field(default_factory=list)

    @cached_property
    def classes(self) -> frozenset[str]:
        """The element's classes."""
        return frozenset(self.attributes.get(("", "class"), "").split())


class _RefusedMarkup(Exception):
    """Raised in a handler to end the parsing."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def problem(message: str, line: int) -> Problem:
    """Return a problem of the drawing at a line of its markup."""
    return Problem(pointer="/svg/content", message=f"line {line}: {message}")


def parse(markup: str) -> Element | Problem:
    """Return the root element, or the problem that ended the parsing."""
    try:
        data = (_ENTITY.sub(_characters, markup) if "&" in markup else markup).encode()
    except UnicodeEncodeError:
        return Problem(pointer="/svg/content", message="holds a lone surrogate")
    if len(data) > MAX_BYTES:
        return Problem(
            pointer="/svg/content",
            message="has too many bytes in UTF-8",
            limit=MAX_BYTES,
            actual=len(data),
        )
    reader = _Reader()
    try:
        reader.parser.Parse(data, True)
    except _RefusedMarkup as refusal:
        return problem(refusal.message, refusal.line)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        return problem(
            f"is not well-formed XML: {reason} at column {error.offset}; in text, write &amp; for"
            " & and &lt; for <",
            error.lineno,
        )
    return reader.root


def _characters(match: re.Match[str]) -> str:
    """Return an HTML entity as character references, and anything else unchanged."""
    name = match[1]
    if name is None or name in _OWN or name not in html5:
        return match[0]
    return "".join(f"&#{ord(character)};" for character in html5[name])


class _Reader:
    def __init__(self) -> None:
        # The encoding passed here overrides any encoding that the document declares.
        self.parser = expat.ParserCreate("UTF-8", _SEPARATOR)
        self.parser.buffer_text = True
        self.parser.XmlDeclHandler = self._declaration
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.EntityDeclHandler = self._entity
        self.parser.ExternalEntityRefHandler = self._external
        self.parser.SkippedEntityHandler = self._skipped
        self.parser.ProcessingInstructionHandler = self._instruction
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.root = Element("", "", {}, 0)
        self._open: list[Element] = []
        self._count = 0

    def _refuse(self, message: str) -> _RefusedMarkup:
        return _RefusedMarkup(message, self.parser.CurrentLineNumber)

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding and encoding.lower() not in ("utf-8", "utf8"):
            raise self._refuse(f"the encoding {encoding[:20]} is not accepted: send UTF-8")

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        if internal:
            raise self._refuse("a <!DOCTYPE> with declarations is not accepted: leave it out")

    def _entity(self, *declaration: object) -> None:
        raise self._refuse("an entity declaration is not accepted")

    def _external(self, *reference: object) -> int:
        raise self._refuse("a reference to an external entity is not accepted")

    def _skipped(self, name: str, is_parameter: bool) -> None:
        raise self._refuse(f"the entity &{name[:40]}; is not known")

    def _instruction(self, target: str, data: str) -> None:
        raise self._refuse("a processing instruction is not accepted")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise self._refuse(f"more than {MAX_ELEMENTS} elements")
        if len(self._open) >= MAX_DEPTH:
            raise self._refuse(f"elements nested deeper than {MAX_DEPTH}")
        if len(attributes) > MAX_ATTRIBUTES:
            raise self._refuse(f"an element with more than {MAX_ATTRIBUTES} attributes")
        namespace, local = _expanded(name)
        element = Element(
            namespace,
            local,
            {_expanded(key): value for key, value in attributes.items()},
            self.parser.CurrentLineNumber,
        )
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, name: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        self._open[-1].children.append(text)


def _expanded(name: str) -> tuple[str, str]:
    namespace, _, local = name.rpartition(_SEPARATOR)
    return namespace, local
