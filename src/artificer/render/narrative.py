"""The narrative, block by block: its Markdown, parsed, and the artifacts that it cites.

A placeholder is exchanged for a mark of letters and digits before the Markdown is parsed, so that
it survives wherever it stands (in emphasis, in a cell, as the target of a link), and the mark is
resolved afterwards. The mark contains a hash of the narrative, so no narrative can contain it. It
has a space where the placeholder has one, because that decides whether it can be a link's target.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from markdown_it import MarkdownIt
from markdown_it.token import Token

from artificer.artifacts import placeholder
from artificer.artifacts.ref import MadeKind
from artificer.render.text import clean

_LINE_END = re.compile(r"\r\n?")

Key = tuple[MadeKind, str]
"""Kind and id of an artifact."""


@dataclass(frozen=True)
class Citation:
    """One placeholder. ``literal`` is what stood in the narrative.

    ``key`` is None where it was meant as a placeholder and is none; ``fault`` says why.
    """

    key: Key | None
    literal: str
    fault: str = ""


@dataclass(frozen=True)
class Passage:
    """One top-level block of the narrative.

    ``source`` is its Markdown and ``tokens`` the same parsed, both with marks for placeholders.
    """

    source: str
    tokens: tuple[Token, ...]
    citations: tuple[Citation, ...]
    marks: Marks

    @property
    def words(self) -> str:
        """The running text of a paragraph or heading, as Markdown; "" of any other block."""
        simple = len(self.tokens) == 3 and self.tokens[1].type == "inline"
        return self.tokens[1].content if simple else ""

    @property
    def alone(self) -> bool:
        """Whether it is a paragraph of placeholders and nothing else."""
        others = self.marks.pattern.sub("", self.words)
        paragraph = bool(self.words) and self.level == 0
        return paragraph and bool(self.citations) and not re.search(r"[^\W_]", others)

    @property
    def level(self) -> int:
        """1 to 6 for a heading, otherwise 0."""
        tag = self.tokens[0].tag if self.tokens else ""
        return int(tag[1]) if re.fullmatch("h[1-6]", tag) else 0


class Marks:
    """The marks of one narrative, and the placeholders that they stand for."""

    def __init__(self, narrative: str) -> None:
        nonce = "artifact" + hashlib.sha256(narrative.encode()).hexdigest()[:20]
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
        """The placeholders whose marks are in ``text``, in order."""
        for match in self.pattern.finditer(text):
            yield self.citations[int(match[1])]

    def literal(self, text: str) -> str:
        """``text`` with every mark turned back into its placeholder."""
        return self.pattern.sub(lambda m: self.citations[int(m[1])].literal, text)


def _found(narrative: str) -> list[tuple[int, int, Citation]]:
    """Start, end and meaning of everything that was meant as a placeholder, in order."""
    good, faults = placeholder.scan(narrative)
    found = [
        (item.start, item.end, Citation((item.kind, item.id), narrative[item.start : item.end]))
        for item in good
    ]
    for fault in faults:
        if fault.start is not None and fault.end is not None:
            literal = narrative[fault.start : fault.end]
            found.append((fault.start, fault.end, Citation(None, literal, fault.message)))
    return sorted(found, key=lambda item: item[0])


def markdown() -> MarkdownIt:
    """CommonMark with GFM's tables and strikethrough. Raw HTML is text; URLs are not guessed."""
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def read(narrative: str) -> tuple[Passage, ...]:
    """Take the narrative apart. Its pieces of source, joined, are the whole of it."""
    marks = Marks(_LINE_END.sub("\n", clean(narrative)))
    lines = [line + "\n" for line in marks.text.removesuffix("\n").split("\n")]
    passages: list[Passage] = []
    position = 0
    blocks = list(_blocks(markdown().parse(marks.text)))
    for index, tokens in enumerate(blocks):
        last = index == len(blocks) - 1
        end = len(lines) if last else cast("list[int]", tokens[0].map)[1]
        passages.append(_passage("".join(lines[position:end]), tokens, marks))
        position = end
    return tuple(passages)


def _blocks(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens in groups, one for each top-level block."""
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
    """What a block token cites; code cites nothing, and gets its literal text back."""
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
