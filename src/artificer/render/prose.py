"""A passage of the narrative as HTML: rendered Markdown, cleaned by an allow-list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from artificer.render.links import inert
from artificer.render.narrative import Citation, Marks, Passage, markdown

_BLOCKS = {"blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul"}
_TABLE = {"table", "tbody", "td", "th", "thead", "tr"}
_WORDS = {"a", "br", "code", "em", "s", "strong"}
_ATTRIBUTES = {"a": {"href"}, "ol": {"start"}, "*": {"dir"}}
_SCHEMES = {"http", "https", "mailto"}
_DIRECTED = {"paragraph", "heading", "list_item", "blockquote", "td", "th"}


def passage_html(
    passage: Passage, inline: Callable[[Citation], Markup], *, top: bool = False
) -> Markup:
    """Return the passage as HTML, with the result of ``inline`` in place of each citation.

    ``top`` marks the page's own heading. Any other first-level heading becomes a second-level one,
    because a page has only one.
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
    resolved = marks.pattern.sub(lambda m: inline(marks.citations[int(m[1])]), cleaned)
    return Markup(resolved.rstrip("\n"))


@cache
def _renderer() -> MarkdownIt:
    return markdown()


def _prepared(token: Token, marks: Marks, *, demote: bool) -> Token:
    """Return a copy of a block token with its text direction, heading level and links adjusted."""
    directed = token.type.removesuffix("_open") in _DIRECTED
    attrs = {**token.attrs, "dir": "auto"} if directed else token.attrs
    tag = "h2" if demote and token.tag == "h1" else token.tag
    children = None if token.children is None else inert(token.children, marks)
    return replace(token, attrs=attrs, tag=tag, children=children)
