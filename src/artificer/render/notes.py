"""Footnotes and task boxes among the tokens of a narrative.

The plugin leaves the definition of a footnote where it was written. Here the definitions move to
the end, in the order in which the text first refers to them. A definition that nothing refers to
stands after the others, so that no words are lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

REF, BOX = "footnote_ref", "task_box"
"""The tokens within running text: a reference to a footnote, and a box that is ticked or not."""

_OPEN, _CLOSE = "footnote_reference_open", "footnote_reference_close"
_TASK = re.compile(r"\[([ xX])\][ \t]+")


class Definition:
    """A footnote: its number, the tokens of its words, and how often the text refers to it."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.number = 0
        self.references = 0
        self.tokens: list[Token] = []


def lifted(tokens: Sequence[Token]) -> tuple[list[Token], list[Definition]]:
    """Return the tokens without definitions, and the definitions, numbered and in order."""
    body, definitions = _parted(tokens)
    known: dict[str, Definition] = {}
    for definition in definitions:
        known.setdefault(definition.label, definition)
    ordered: list[Definition] = []
    _number(body, known, ordered)
    read = 0
    while read < len(ordered) or len(ordered) < len(definitions):
        if read == len(ordered):
            _append(next(d for d in definitions if not d.number), ordered)
        _number(ordered[read].tokens, known, ordered)
        read += 1
    return body, ordered


def boxed(tokens: Sequence[Token]) -> None:
    """Put a box in front of each list item that begins with ``[ ]`` or ``[x]``."""
    for item, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_item = (item.type, paragraph.type) == ("list_item_open", "paragraph_open")
        if not is_item or not inline.children or inline.children[0].type != "text":
            continue
        first = inline.children[0]
        if match := _TASK.match(first.content):
            first.content = first.content[match.end() :]
            box = Token(BOX, "", 0, meta={"done": match[1] != " "})
            inline.children = [box, *inline.children]


def reference_id(number: int, occurrence: int) -> str:
    """Return the fragment id of a reference, to which its footnote leads back."""
    return f"noteref-{number}" + (f"-{occurrence}" if occurrence > 1 else "")


def _parted(tokens: Sequence[Token]) -> tuple[list[Token], list[Definition]]:
    body: list[Token] = []
    definitions: list[Definition] = []
    within: list[Definition] = []
    for token in tokens:
        if token.type == _OPEN:
            within.append(Definition(token.meta["label"]))
            definitions.append(within[-1])
        elif token.type == _CLOSE:
            within.pop()
        else:
            (within[-1].tokens if within else body).append(token)
    return body, definitions


def _number(
    tokens: Sequence[Token], known: dict[str, Definition], ordered: list[Definition]
) -> None:
    """Number the references in running text; a definition gets its number with the first."""
    for token in _references(tokens):
        definition = known[token.meta["label"]]
        if not definition.number:
            _append(definition, ordered)
        definition.references += 1
        token.meta = {"number": definition.number, "occurrence": definition.references}


def _references(tokens: Sequence[Token]) -> Iterator[Token]:
    for outer in tokens:
        yield from (token for token in outer.children or () if token.type == REF)


def _append(definition: Definition, ordered: list[Definition]) -> None:
    ordered.append(definition)
    definition.number = len(ordered)
