"""A passage of the narrative as HTML: rendered Markdown, cleaned by an allow-list."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from artificer.render.code import code_html, math_html
from artificer.render.language import Language
from artificer.render.links import inert
from artificer.render.narrative import MATH, Citation, Marks, Passage, markdown
from artificer.render.notes import BOX, REF, reference_id
from artificer.render.template import filled, macro

_BLOCKS = {
    "blockquote",
    "dd",
    "dl",
    "dt",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "ul",
}
_TABLE = {"table", "tbody", "td", "th", "thead", "tr"}
_WORDS = {"a", "br", "code", "em", "s", "strong"}
_HEADINGS = ("h2", "h3", "h4", "h5", "h6")
_ATTRIBUTES = {"a": {"href"}, "ol": {"start"}, "*": {"dir"}} | {tag: {"id"} for tag in _HEADINGS}
_SCHEMES = {"http", "https", "mailto"}
_DIRECTED = {"paragraph", "heading", "list_item", "blockquote", "td", "th", "dt", "dd"}


def passage_html(
    passage: Passage,
    inline: Callable[[Citation], Markup],
    ui: Language,
    *,
    top: bool = False,
    section: str = "",
) -> Markup:
    """Return the passage as HTML, with the result of ``inline`` in place of each citation.

    ``top`` marks the page's own heading. Any other first-level heading becomes a second-level one,
    because a page has only one. ``section`` is the fragment id of a heading.
    """
    if passage.notes:
        return _notes_html(passage, inline, ui)
    insets = _Insets(passage.marks, ui)
    tokens = [
        _prepared(token, passage.marks, insets, demote=not top, section=section)
        for token in passage.tokens
    ]
    rendered = _renderer().renderer.render(tokens, _renderer().options, {})
    cleaned = nh3.clean(
        rendered,
        tags=_BLOCKS | _TABLE | _WORDS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
    )
    marks = passage.marks
    resolved = marks.pattern.sub(lambda m: inline(marks.citations[int(m[1])]), cleaned)
    resolved = insets.resolved(resolved)
    return Markup(resolved.rstrip("\n"))


def _notes_html(passage: Passage, inline: Callable[[Citation], Markup], ui: Language) -> Markup:
    """Return the footnotes, each with links back to where the text refers to it."""
    notes = []
    for note in passage.notes:
        words = passage_html(note.passage, inline, ui)
        end = Markup("</p>" if words.endswith("</p>") else "")
        backs = [reference_id(note.number, n + 1) for n in range(note.references)]
        words = Markup(words.removesuffix(end))
        notes.append({"number": note.number, "words": words, "end": end, "backs": backs})
    return filled("footnotes", ui=ui, notes=notes)


@cache
def _renderer() -> MarkdownIt:
    return markdown()


class _Insets:
    """Code and formulas of a passage. Each is put in after the allow-list, in place of a mark."""

    def __init__(self, marks: Marks, ui: Language) -> None:
        self.ui = ui
        self._made: list[Markup] = []
        self._nonce = f"{marks.nonce}i"

    def mark(self, made: Markup) -> str:
        """Keep a piece of the page, and return the mark that stands for it."""
        self._made.append(made)
        return f"{self._nonce}{len(self._made) - 1}z"

    def resolved(self, text: str) -> str:
        """Return the text with the pieces in place of their marks."""
        return re.sub(f"{self._nonce}([0-9]+)z", lambda m: self._made[int(m[1])], text)


def _inset(token: Token, insets: _Insets) -> Token | None:
    """Return a token with the mark of a block of code or of a formula; None for any other."""
    if token.type in ("fence", "code_block"):
        language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
        return Token("html_block", "", 0, content=insets.mark(code_html(token.content, language)))
    if token.type == "math_block":
        return Token("html_block", "", 0, content=insets.mark(math_html(token.content, block=True)))
    if token.type in MATH:
        return Token("text", "", 0, content=insets.mark(math_html(token.content, block=False)))
    if token.type == REF:
        number, occurrence = token.meta["number"], token.meta["occurrence"]
        own = reference_id(number, occurrence)
        made = macro("footnotes", "reference", insets.ui, number, own)
        return Token("text", "", 0, content=insets.mark(made))
    if token.type == BOX:
        made = macro("parts", "box", insets.ui, token.meta["done"])
        return Token("text", "", 0, content=insets.mark(made))
    return None


def _prepared(token: Token, marks: Marks, insets: _Insets, *, demote: bool, section: str) -> Token:
    """Return a copy of a block token with its text direction, heading level and links adjusted."""
    if inset := _inset(token, insets):
        return inset
    directed = token.type.removesuffix("_open") in _DIRECTED
    attrs = {**token.attrs, "dir": "auto"} if directed else token.attrs
    if section and token.type == "heading_open":
        attrs = {**attrs, "id": section}
    tag = "h2" if demote and token.tag == "h1" else token.tag
    children = None if token.children is None else inert(token.children, marks)
    if children is not None:
        children = [_inset(child, insets) or child for child in children]
        if section:  # a heading has this one token with words
            link = macro("parts", "section_link", insets.ui, section)
            children.append(Token("text", "", 0, content=insets.mark(link)))
    return replace(token, attrs=attrs, tag=tag, children=children)
