"""The links and images that a narrative may have, in every view of a report."""

from __future__ import annotations

import re
from dataclasses import replace

from markdown_it.token import Token

from artificer.render.narrative import Marks

_SAFE = re.compile(r"(https?://|mailto:)", re.IGNORECASE)


def inert(children: list[Token], marks: Marks) -> list[Token]:
    """Return the running text with only safe links and no images.

    Only links to the web and to mail addresses stay links. Images become links, because a report
    fetches nothing. A placeholder used as a target is put after the link's text; a placeholder in
    the link's text replaces the link, because links cannot be nested.
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
            elif token.markup not in ("autolink", "linkify"):  # an autolink's text is its target
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
    """Return whether there is a citation before the end of the link."""
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
    """Return an image's text, as a link if the image is on the web."""
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
