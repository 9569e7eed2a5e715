"""The fenced blocks of a page, and the comments that say how to run them.

A comment right before a block applies to it:

- ``<!-- not run: reason -->``: the block is only compiled, or its commands only parsed.
- ``<!-- replies: call("add", a=1), say("3") -->``: the replies of the model, in order.
- ``<!-- before: artificer run "Hello" -->``: a command that runs first.
- ``<!-- exit: 5 -->``: the exit status of a shell block that does not succeed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)(?P<rest>.*)$")
_TITLE = re.compile(r'title="(?P<title>[^"]+)"')
_COMMENT = re.compile(
    r"<!--\s*(?P<key>not run|replies|before|exit):\s*(?P<text>.*?)\s*-->", re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its title, its source, its line, and the comments about it."""

    page: Path
    language: str
    title: str | None
    source: str
    line: int
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The file and line, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    number = 0
    before = 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            number += 1
            continue
        end = _end(lines, number, opening["indent"])
        indent = len(opening["indent"])
        source = "\n".join(line[indent:] for line in lines[number + 1 : end]) + "\n"
        title = _TITLE.search(opening["rest"])
        notes = _notes("\n".join(lines[before:number]))
        name = title["title"] if title else None
        yield Block(page, opening["language"], name, source, number + 2, notes)
        before = number = end + 1


def _end(lines: list[str], start: int, indent: str) -> int:
    return next(n for n in range(start + 1, len(lines)) if lines[n].rstrip() == f"{indent}```")


def _notes(before: str) -> dict[str, str]:
    """Return the comments at the end of the text between two blocks."""
    notes: dict[str, str] = {}
    while found := _last_comment(before):
        notes[found["key"]] = found["text"]
        before = before[: found.start()]
    return notes


def _last_comment(text: str) -> re.Match[str] | None:
    start = text.rfind("<!--")
    found = _COMMENT.match(text, start) if start >= 0 else None
    return found if found and not text[found.end() :].strip() else None
