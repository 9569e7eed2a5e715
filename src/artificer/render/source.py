"""A passage of the narrative written as Markdown from its tokens.

Nothing is copied from the model's source, so no viewer finds more in it than the page shows:
text is escaped, code is code, links come from :mod:`artificer.render.links`, and there are no
images, no HTML and no link definitions. ``<`` is written as an entity, because some Markdown
dialects do not accept a backslash before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from artificer.render.links import inert
from artificer.render.narrative import Marks, Passage
from artificer.render.notes import BOX, REF
from artificer.render.text import fenced
from artificer.values.text import fence_for

_SPECIAL = re.compile(r"[\\`*$\[\]|~]|!$|(?<![^\W_])_|_(?![^\W_])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_LINE_START = re.compile(r"^([-+*](?=[\s-]|$)|[=>~]|#{1,6}(?=\s|$)|[0-9]{1,9}(?=[.)](?:\s|$)))")
_TRAILING_HASHES = re.compile(r"#+\s*$")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,30}(?=\s|$)")
_IN_TARGET = re.compile(r"[\s<>()\[\]\\`|\"]")
_MARKS = {"em": "*", "strong": "**", "s": "~~"}
_ALIGNED = {"left": ":--", "center": ":-:", "right": "--:"}
_LISTS = ("bullet_list", "ordered_list")
_PLAIN_START = re.compile(r"(?![`#>|+-]|[0-9]+[.)]\s|\*{3}|_{3}|\s*$)")
_TARGET_LIKE = re.compile(r"\S*(\s+[\"'(].*)?")
_NO_TARGET = "\u200b"
"""Invisible, and not a part of what Markdown reads as a link's target and its title."""

_WORDS = "words"
"""The tokens of a paragraph's words, among the facts that its token holds."""


def passage_markdown(passage: Passage) -> str:
    """Return the passage as Markdown, with marks in place of its citations."""
    if passage.notes:
        return "\n\n".join(
            _note(note.number, passage_markdown(note.passage)) for note in passage.notes
        )
    nodes = SyntaxTreeNode([_block_token(token) for token in passage.tokens]).children
    return "\n\n".join(_block(node, passage.marks) for node in nodes)


def _note(number: int, text: str) -> str:
    """Return a footnote. A viewer that knows none must not read it as the target of a link."""
    first, *lines = text.split("\n")
    if not _PLAIN_START.match(first):
        first, lines = f"{_NO_TARGET} {_NO_TARGET}", ["", first, *lines]
    elif _TARGET_LIKE.fullmatch(first):
        first += f" {_NO_TARGET}"
    return "\n".join((f"[^{number}]: {first}", *(f"    {line}" if line else "" for line in lines)))


def _block_token(token: Token) -> Token:
    """Return a token without the tokens of its words, which may nest a thousand deep."""
    if token.type != "inline":
        return token
    return token.copy(children=None, meta={_WORDS: token.children or []})


def _block(node: SyntaxTreeNode, marks: Marks) -> str:
    if node.type in ("fence", "code_block"):
        language = _LANGUAGE.match(node.info.strip())
        return fenced(node.content, language[0] if language else "")
    if node.type == "math_block":
        return fenced(node.content.strip("\n"), "math")
    write = _BLOCKS.get(node.type)
    return write(node, marks) if write else "___"


def _blocks(nodes: Iterable[SyntaxTreeNode], marks: Marks, *, tight: bool) -> str:
    text = ""
    for node in nodes:
        gap = "\n" if tight and node.type in _LISTS else "\n\n"
        text += (gap if text else "") + _block(node, marks)
    return text


def _paragraph(node: SyntaxTreeNode, marks: Marks) -> str:
    """Return the lines of a paragraph, escaped so that none begins another kind of block."""
    lines = (line.strip(" \t") for line in _words(node, marks).split("\n"))
    return "\n".join(_LINE_START.sub(_escaped_start, line) for line in lines if line)


def _heading(node: SyntaxTreeNode, marks: Marks) -> str:
    words = _words(node, marks).replace("\\\n", "\n").replace("\n", " ").strip()
    return f"{'#' * int(node.tag[1])} {_TRAILING_HASHES.sub(_escaped_start, words)}"


def _quote(node: SyntaxTreeNode, marks: Marks) -> str:
    lines = _blocks(node.children, marks, tight=False).split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _list(node: SyntaxTreeNode, marks: Marks) -> str:
    items = []
    tight = all(child.hidden for item in node.children for child in item.children[:1])
    for item in node.children:
        marker = f"{item.info}{item.markup}" if node.type == "ordered_list" else item.markup
        body = _blocks(item.children, marks, tight=tight).split("\n")
        indent = " " * (len(marker) + 1)
        lines = (f"{indent}{line}" if line else "" for line in body[1:])
        items.append("\n".join((f"{marker} {body[0]}".rstrip(), *lines)))
    return ("\n" if tight else "\n\n").join(items)


def _terms(node: SyntaxTreeNode, marks: Marks) -> str:
    """Return a definition list: each term in bold, its definitions as a list below it."""
    parts = []
    for child in node.children:
        if child.type == "dt":
            words = _words(child, marks).replace("\\\n", "\n").replace("\n", " ").strip()
            parts.append(f"**{words}**")
        else:
            lines = _blocks(child.children, marks, tight=False).split("\n")
            parts.append("\n".join((f"- {lines[0]}", *(f"  {s}" if s else "" for s in lines[1:]))))
    return "\n\n".join(parts)


def _table(node: SyntaxTreeNode, marks: Marks) -> str:
    rows = [row for part in node.children for row in part.children]
    lines = [" | ".join(_cell(cell, marks) for cell in row.children) for row in rows]
    aligned = (str(cell.attrs.get("style", "")).rpartition(":")[2] for cell in rows[0].children)
    lines.insert(1, " | ".join(_ALIGNED.get(side, "---") for side in aligned))
    return "\n".join(f"| {line} |" for line in lines)


def _cell(node: SyntaxTreeNode, marks: Marks) -> str:
    """Return a cell's text. A pipe separates cells even in code, unless it is escaped."""
    return re.sub(r"(?<!\\)\|", r"\\|", _words(node, marks)).strip()


def _escaped_start(match: re.Match[str]) -> str:
    return f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}"


def _words(node: SyntaxTreeNode, marks: Marks) -> str:
    """Return the running text of a paragraph, a heading or a cell."""
    inlines = (child.token for child in node.children if child.token)
    found = (token for inline in inlines for token in inline.meta.get(_WORDS, ()))
    text = ""
    target = ""
    before = ""
    for token in inert(list(found), marks):
        if token.type == "link_open":
            target = str(token.attrs["href"])
            piece = "["
        elif token.type == "link_close":
            piece = f"]({_target(target)})"
        else:
            piece = _inline(token)
            # After a reference these would make a link or a definition of it.
            piece = f"\\{piece}" if before == REF and piece.startswith(("(", ":")) else piece
        # Two adjacent runs of backticks would merge into one, so a space separates them.
        text += " " + piece if text.endswith("`") and piece.startswith("`") else piece
        before = token.type
    return text


def _inline(token: Token) -> str:
    write = _INLINES.get(token.type)
    return write(token) if write else _MARKS.get(token.tag, "")


def _text(content: str) -> str:
    """Return text without markup. A line end in it was written as an entity."""
    escaped = _SPECIAL.sub(lambda m: "\\" + m[0], re.sub(r"[\r\n]", " ", content))
    return _ENTITY.sub("&amp;", escaped).replace("<", "&lt;")


def _code(content: str) -> str:
    """Return a code span with exactly this content."""
    fence = fence_for(content, least=1)
    spaced = content.strip(" ") and content.startswith(" ") and content.endswith(" ")
    padded = bool(spaced) or content.startswith("`") or content.endswith("`")
    return f"{fence} {content} {fence}" if padded else f"{fence}{content}{fence}"


def _target(href: str) -> str:
    """Return a link target in which nothing ends the parentheses or reads as an entity."""
    encoded = _IN_TARGET.sub(lambda m: "".join(f"%{b:02X}" for b in m[0].encode()), href)
    return _ENTITY.sub("&amp;", encoded)


_BLOCKS: dict[str, Callable[[SyntaxTreeNode, Marks], str]] = {
    "paragraph": _paragraph,
    "heading": _heading,
    "blockquote": _quote,
    "bullet_list": _list,
    "ordered_list": _list,
    "table": _table,
    "dl": _terms,
}

_INLINES: dict[str, Callable[[Token], str]] = {
    "code_inline": lambda token: _code(token.content),
    "softbreak": lambda _: "\n",
    "hardbreak": lambda _: "\\\n",
    "text": lambda token: _text(token.content),
    **dict.fromkeys(
        ("math_inline", "math_inline_double"), lambda token: f"${_code(token.content)}$"
    ),
    REF: lambda token: f"[^{token.meta['number']}]",
    BOX: lambda token: "[x] " if token.meta["done"] else "[ ] ",
}
