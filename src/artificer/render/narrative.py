"""The narrative, block by block: its parsed Markdown and the artifacts it cites.

Each placeholder is replaced by a mark of letters and digits before the Markdown is parsed, so that
it survives anywhere (in emphasis, in a cell, as the target of a link). The marks are resolved
afterwards. A mark contains a hash of the narrative, so no narrative can contain it. It has a space
where the placeholder has one, because a space decides whether the text can be a link's target.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from artificer.artifacts import placeholder
from artificer.artifacts.ref import MadeKind
from artificer.render.glued import glued_by_formulas, is_glued
from artificer.render.notes import Definition, boxed, lifted
from artificer.render.text import straight

_LINE_END = re.compile(r"\r\n?")

Key = tuple[MadeKind, str]
"""Kind and id of an artifact."""


@dataclass(frozen=True)
class Citation:
    """One placeholder. ``literal`` is its text in the narrative.

    ``key`` is None for a malformed placeholder, and ``fault`` then names the error. ``glued`` says
    that what stands next to a value could pass for a part of it.
    """

    key: Key | None
    literal: str
    fault: str = ""
    glued: bool = False


@dataclass(frozen=True)
class Passage:
    """One top-level block of the narrative.

    ``source`` is its Markdown and ``tokens`` the same parsed, both with marks for placeholders.
    The last passage may be the footnotes, which have passages of their own.
    """

    source: str
    tokens: tuple[Token, ...]
    citations: tuple[Citation, ...]
    marks: Marks
    notes: tuple[Footnote, ...] = ()

    @property
    def words(self) -> str:
        """The running text of a paragraph or heading as Markdown; "" for any other block."""
        simple = len(self.tokens) == 3 and self.tokens[1].type == "inline"
        return self.tokens[1].content if simple else ""

    @property
    def title(self) -> str:
        """The words of a heading without its markup."""
        children = self.tokens[1].children if len(self.tokens) > 1 else None
        return "".join(
            child.content or " " * (child.type == "softbreak") for child in children or ()
        )

    @property
    def on_own_line(self) -> bool:
        """Whether the block is a paragraph that holds only placeholders, none of a value."""
        if any(c.key and c.key[0] == "value" for c in self.citations):
            return False
        others = self.marks.pattern.sub("", self.words)
        paragraph = bool(self.words) and self.level == 0
        return paragraph and bool(self.citations) and not re.search(r"[^\W_]", others)

    @property
    def level(self) -> int:
        """The level of a heading, 1 to 6; 0 for any other block."""
        tag = self.tokens[0].tag if self.tokens else ""
        return int(tag[1]) if re.fullmatch("h[1-6]", tag) else 0


@dataclass(frozen=True)
class Footnote:
    """A footnote: its number, its words, and how often the text refers to it."""

    number: int
    passage: Passage
    references: int


class Marks:
    """The marks of one narrative and the placeholders they replace."""

    def __init__(self, narrative: str) -> None:
        self.nonce = nonce = "artifact" + hashlib.sha256(narrative.encode()).hexdigest()[:20]
        self.pattern = re.compile(f"{nonce}n([0-9]+) ?z")
        self.citations: list[Citation] = []
        pieces: list[str] = []
        position = 0
        for start, end, citation in _found(narrative):
            gap = " " if re.search(r"\s", citation.literal) else ""
            pieces += (narrative[position:start], f"{nonce}n{len(self.citations)}{gap}z")
            self.citations.append(citation)
            position = end
        self.text = "".join((*pieces, narrative[position:]))

    def cited(self, text: str) -> Iterator[Citation]:
        """Yield the placeholders whose marks are in ``text``, in order."""
        for match in self.pattern.finditer(text):
            yield self.citations[int(match[1])]

    def literal(self, text: str) -> str:
        """Return ``text`` with every mark replaced by its placeholder."""
        return self.pattern.sub(lambda m: self.citations[int(m[1])].literal, text)


def _found(narrative: str) -> list[tuple[int, int, Citation]]:
    """Return start, end and meaning of every placeholder, well-formed or not, in order."""
    good, faults = placeholder.scan(narrative)
    found = [
        (item.start, item.end, _citation(narrative, (item.kind, item.id), item.start, item.end))
        for item in good
    ]
    for fault in faults:
        if fault.start is not None and fault.end is not None:
            literal = narrative[fault.start : fault.end]
            found.append((fault.start, fault.end, Citation(None, literal, fault.message)))
    return sorted(found, key=lambda item: item[0])


def _citation(narrative: str, key: Key, start: int, end: int) -> Citation:
    before, after = narrative[max(0, start - 80) : start], narrative[end : end + 80]
    glued = key[0] == "value" and is_glued(before, after)
    return Citation(key, narrative[start:end], glued=glued)


@cache
def markdown(*, plain: bool = False) -> MarkdownIt:
    """Return a parser for CommonMark with GFM tables and strikethrough, without HTML.

    Unless ``plain``, it also reads bare addresses, definition lists, footnotes, and mathematics in
    dollars.
    """
    parser = MarkdownIt("commonmark", {"html": False, "linkify": not plain})
    parser.enable(["table", "strikethrough"])
    if plain:
        return parser
    parser.enable("linkify")
    assert parser.linkify
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    parser.use(deflist_plugin).use(dollarmath_plugin, allow_space=False, allow_digits=False)
    return parser.use(footnote_plugin, inline=False, move_to_end=False)


def _tokens(marks: Marks, *, notes: bool) -> list[Token]:
    """Return the tokens. A character reference (``&#x202e;``) is a character only now."""
    tokens = _parsed(marks, notes=notes)
    for child in (child for token in tokens for child in token.children or ()):
        if child.type == "text":
            child.content = straight(child.content)
    for token in tokens:
        _glue(token.children or (), marks)
    return tokens


def _glue(children: Sequence[Token], marks: Marks) -> None:
    """Mark the values next to a formula that could pass for a part of them."""
    pieces = ((child.content, child.type in MATH) for child in children)
    for index in glued_by_formulas(pieces, marks.pattern):
        citation = marks.citations[index]
        is_value = citation.key is not None and citation.key[0] == "value"
        marks.citations[index] = replace(citation, glued=is_value)


def _parsed(marks: Marks, *, notes: bool) -> list[Token]:
    """Parse the text. A placeholder is not part of a formula, an address or a note's name."""
    if not notes and "[^" in marks.text:
        return markdown(plain=True).parse(marks.text)
    tokens = markdown().parse(marks.text)
    every = [token for outer in tokens for token in (outer, *(outer.children or ()))]
    formulas = (token.content for token in every if token.type in MATH)
    links = (token for token in every if token.markup == "linkify")
    found = (token.attrGet("href") for token in links)
    labels = (token.meta.get("label") for token in every)
    if any(marks.nonce in str(part) for part in (*formulas, *found, *labels)):
        return markdown(plain=True).parse(marks.text)
    return tokens


MATH = frozenset(("math_inline", "math_inline_double", "math_block"))
"""The tokens of formulas."""


def read(narrative: str, *, notes: bool = True) -> tuple[Passage, ...]:
    """Split the narrative into passages. Their sources, joined, are the whole narrative.

    Without ``notes``, nothing is a footnote.
    """
    marks = Marks(_LINE_END.sub("\n", straight(narrative)))
    lines = [line + "\n" for line in marks.text.removesuffix("\n").split("\n")]
    passages: list[Passage] = []
    position = 0
    body, definitions = lifted(_tokens(marks, notes=notes))
    for tokens in (body, *(definition.tokens for definition in definitions)):
        boxed(tokens)
    blocks = list(_blocks(body))
    for index, tokens in enumerate(blocks):
        last = index == len(blocks) - 1 and not definitions
        end = len(lines) if last else cast("list[int]", tokens[0].map)[1]
        passages.append(_passage("".join(lines[position:end]), tokens, marks))
        position = end
    if definitions:
        passages.append(_notes("".join(lines[position:]), definitions, marks))
    return tuple(passages)


def _notes(source: str, definitions: Sequence[Definition], marks: Marks) -> Passage:
    """Return the footnotes as one passage."""
    notes = tuple(
        Footnote(d.number, _passage("", d.tokens, marks), d.references) for d in definitions
    )
    citations = tuple(c for note in notes for c in note.passage.citations)
    return Passage(source, (), citations, marks, notes)


def _blocks(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each top-level block."""
    block: list[Token] = []
    depth = 0
    for token in tokens:
        block.append(token)
        depth += token.nesting
        if depth == 0:
            yield block
            block = []


def _passage(source: str, tokens: list[Token], marks: Marks) -> Passage:
    citations = tuple(c for token in tokens for c in _citations(token, marks))
    return Passage(source, tuple(tokens), citations, marks)


def _citations(token: Token, marks: Marks) -> Iterator[Citation]:
    """Yield the citations of a block token. Code cites nothing and gets its literal text back."""
    if token.type in ("fence", "code_block"):
        token.content, token.info = marks.literal(token.content), marks.literal(token.info)
    for child in token.children or ():
        if child.type == "code_inline":
            child.content = marks.literal(child.content)
        elif child.type == "text":
            yield from marks.cited(child.content)
        elif child.type in ("link_open", "image"):
            target = child.attrGet("href") or child.attrGet("src") or ""
            yield from marks.cited(str(target))
            if child.type == "image":
                yield from marks.cited(child.content)
