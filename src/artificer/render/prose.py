"""A passage of the narrative as HTML: Markdown rendered, then cleaned by an allow-list."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

from artificer.render.narrative import Citation, Marks, Passage, markdown

_BLOCKS = {"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul"}
_TABLE = {"table", "tbody", "td", "th", "thead", "tr"}
_WORDS = {"a", "br", "code", "em", "s", "strong"}
_ATTRIBUTES = {"a": {"href"}, "ol": {"start"}, "*": {"dir"}}
_SCHEMES = {"http", "https", "mailto"}
_SAFE = re.compile(r"(https?://|mailto:)", re.IGNORECASE)
_DIRECTED = {"paragraph", "heading", "list_item", "blockquote", "td", "th"}


def passage_html(passage: Passage, inline: Callable[[Citation], str], *, top: bool = False) -> str:
    """Return the passage's HTML, with ``inline`` of each citation where it is cited.

    ``top`` says that it is the page's own heading; any other first-level heading becomes a
    second-level one, because a page has one.
    """
    tokens = [_prepared(token, passage.marks, demote=not top) for token in passage.tokens]
    rendered = _renderer().renderer.render(tokens, _renderer().options, {})
    cleaned = nh3.clean(
        rendered,
        tags=_BLOCKS | _TABLE | _WORDS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
    )
    marks = passage.marks
    return marks.pattern.sub(lambda m: inline(marks.citations[int(m[1])]), cleaned).rstrip("\n")


@cache
def _renderer() -> MarkdownIt:
    return markdown()


def _prepared(token: Token, marks: Marks, *, demote: bool) -> Token:
    """A copy of a block token, with its direction, its heading level and its links seen to."""
    directed = token.type.removesuffix("_open") in _DIRECTED
    attrs = {**token.attrs, "dir": "auto"} if directed else token.attrs
    tag = "h2" if demote and token.tag == "h1" else token.tag
    children = None if token.children is None else _prepared_inline(token.children, marks)
    return replace(token, attrs=attrs, tag=tag, children=children)


def _prepared_inline(children: list[Token], marks: Marks) -> list[Token]:
    """Only links to the web and to mail addresses stay links, and images become links, because a
    report fetches nothing. A placeholder that was the target stands after the words instead; one
    among the words of a link takes the link's place, because links cannot be nested.
    """
    result: list[Token] = []
    target, kept = "", False
    for index, token in enumerate(children):
        if token.type == "link_open":
            target = str(token.attrGet("href"))
            kept = _leads_out(target, marks) and not _cites_inside(children[index + 1 :], marks)
            if kept:
                result.append(replace(token, attrs={"href": target}))
        elif token.type == "link_close":
            if kept:
                result.append(token)
            elif token.markup != "autolink":  # whose words are its target
                result += _cited_target(target, marks)
            kept = False
        elif token.type == "image":
            result += _image(token, marks, inside_link=kept)
        else:
            result.append(token)
    return result


def _leads_out(target: str, marks: Marks) -> bool:
    return bool(_SAFE.match(target)) and not marks.pattern.search(target)


def _cites_inside(following: list[Token], marks: Marks) -> bool:
    """Whether there is a citation before the link's end."""
    for token in following:
        if token.type == "link_close":
            return False
        if marks.pattern.search(token.content):
            return True
    return False


def _cited_target(target: str, marks: Marks) -> list[Token]:
    found = marks.pattern.search(target)
    return [_text(f" ({found[0]})")] if found else []


def _image(token: Token, marks: Marks, *, inside_link: bool) -> list[Token]:
    """An image's words; a link to it, where it is on the web."""
    source = str(token.attrGet("src") or "")
    words = _text(token.content or source)
    if inside_link or not _leads_out(source, marks) or marks.pattern.search(token.content):
        return [words, *_cited_target(source, marks)]
    return [
        Token("link_open", "a", 1, attrs={"href": source}),
        words,
        Token("link_close", "a", -1),
    ]


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
