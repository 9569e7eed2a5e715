"""Unified diffs: read strictly, and put on texts that agree with them line by line.

A hunk whose lines stand elsewhere in the file is put there, if there is just one such place; its
line numbers are a hint. Lines that do not agree are never passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from artificer.values.base import Problem
from artificer.values.text import clip

MAX_FILES = 100
MAX_PLACES = 10
"""Places of a hunk's lines that are listed."""

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_PASSED_OVER = ("diff ", "index ", "new file mode", "deleted file mode", "old mode", "new mode")
_REFUSED = ("rename ", "copy ", "similarity ", "GIT binary patch", "Binary files ")
_NO_NEWLINE = "\\ No newline"


@dataclass
class Hunk:
    """Lines that are there before, and those that are there after, each with its ending."""

    line: int
    at: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass
class FilePatch:
    """A patch's change to one file: ``before`` or ``after`` is None where there is none."""

    before: str | None
    after: str | None
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The file's name."""
        return self.after or self.before or ""


class PatchError(ValueError):
    """A text is not a unified diff; the message names the line and the reason."""


def parse(text: str) -> list[FilePatch]:
    """Read a unified diff of one or more files. Raises PatchError."""
    files: list[FilePatch] = []
    lines = _Lines(text)
    while (line := lines.take()) is not None:
        if line.startswith(_REFUSED):
            raise PatchError(f"line {lines.number}: {line.split(' ')[0]!r} cannot be applied here")
        if line.startswith("--- "):
            files.append(_file(lines, line))
            if len(files) > MAX_FILES:
                raise PatchError(f"more than {MAX_FILES} files")
        elif line.startswith("@@"):
            raise PatchError(f"line {lines.number}: a hunk stands before any ---/+++ lines")
        elif line.strip() and not line.startswith(_PASSED_OVER):
            raise PatchError(f"line {lines.number}: {clip(line, 60)!r} is no line of a diff")
    if not files:
        raise PatchError("it holds no file: a file begins with its --- and +++ lines")
    names = [file.path for file in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PatchError(f"{twice!r} is there twice")
    return files


class _Lines:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        if self._lines and not self._lines[-1]:
            self._lines.pop()
        self.number = 0

    def take(self) -> str | None:
        line = self.peek()
        self.number += line is not None
        return line

    def peek(self) -> str | None:
        return self._lines[self.number] if self.number < len(self._lines) else None


def _file(lines: _Lines, header: str) -> FilePatch:
    second = lines.take()
    if second is None or not second.startswith("+++ "):
        raise PatchError(f"line {lines.number}: a +++ line must follow the --- line")
    before, after = _name(header[4:], "a/"), _name(second[4:], "b/")
    if before is None and after is None:
        raise PatchError(f"line {lines.number}: both names are /dev/null")
    if before is not None and after is not None and before != after:
        raise PatchError(f"line {lines.number}: a file cannot be renamed here")
    file = FilePatch(before, after)
    while (line := lines.peek()) is not None and line.startswith("@@"):
        file.hunks.append(_hunk(lines))
    if not file.hunks and before is not None and after is not None:
        raise PatchError(f"line {lines.number}: the file has no hunks")
    return file


def _name(text: str, prefix: str) -> str | None:
    name = text.split("\t")[0].rstrip("\r")
    return None if name == "/dev/null" else name.removeprefix(prefix)


def _hunk(lines: _Lines) -> Hunk:
    header = lines.take() or ""
    found = _HUNK.match(header)
    if found is None:
        raise PatchError(f"line {lines.number}: {clip(header, 60)!r} is no hunk's header")
    begun = lines.number
    left, right = (1 if n is None else int(n) for n in (found[2], found[4]))
    hunk = Hunk(begun, int(found[1]))
    while left > 0 or right > 0:
        line = lines.take()
        if line is None:
            raise PatchError(f"line {begun}: the hunk is shorter than its header says")
        mark, body = line[:1] or " ", line[1:] + "\n"
        if mark not in " +-":
            raise PatchError(f"line {lines.number}: {clip(line, 60)!r} begins with no mark")
        if mark in " -":
            hunk.old.append(body)
            left -= 1
        if mark in " +":
            hunk.new.append(body)
            right -= 1
        if (following := lines.peek()) is not None and following.startswith(_NO_NEWLINE):
            lines.take()
            _cut_newline(hunk, mark)
    if left or right:
        raise PatchError(f"line {begun}: the hunk's lines are not as many as its header says")
    return hunk


def _cut_newline(hunk: Hunk, mark: str) -> None:
    for side, marks in ((hunk.old, " -"), (hunk.new, " +")):
        if mark in marks and side:
            side[-1] = side[-1].removesuffix("\n")


@dataclass(frozen=True)
class Patched:
    """A file's text after its patch (None: it is removed), or what keeps it from being applied.

    ``moved`` lists hunks that were applied at another line than the one in their header.
    """

    text: str | None
    problems: tuple[Problem, ...] = ()
    moved: tuple[str, ...] = ()


def apply(file: FilePatch, text: str | None) -> Patched:
    """Apply a patch to a file's text; None is a missing file."""
    if file.before is None and text is not None:
        return _no(file, "exists already, and the patch makes it")
    if file.before is not None and text is None:
        return _no(file, "is not there")
    lines = _split(text or "")
    places = _Places(lines, file.hunks)
    problems: list[Problem] = []
    moved: list[str] = []
    result: list[str] = []
    done = 0
    for number, hunk in enumerate(file.hunks, 1):
        wanted = max(hunk.at - 1, 0) if hunk.old else hunk.at
        found = _find(lines, hunk.old, wanted, done, places)
        if isinstance(found, str):
            problems.append(Problem(pointer=f"{file.path}, hunk {number}", message=found))
            continue
        if found != wanted:
            moved.append(f"{file.path}, hunk {number}: at line {found + 1}, not {hunk.at}")
        result += [*lines[done:found], *hunk.new]
        done = found + len(hunk.old)
    if problems:
        return Patched(text, tuple(problems))
    after = "".join([*result, *lines[done:]])
    if file.after is None:
        return Patched(None) if not after else _no(file, "holds more than the patch removes")
    return Patched(after, moved=tuple(moved))


def _no(file: FilePatch, message: str) -> Patched:
    return Patched(None, (Problem(pointer=file.path, message=message),))


def _split(text: str) -> list[str]:
    """Lines with their \\n; nothing else ends a line of a diff."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


class _Places:
    """Where the lines of hunks stand in a file, found in time linear in its length.

    Each different line is one character of a text. Comparing list with list would take the square
    of their lengths, and so would a search in the text itself, for what begins within its lines.
    """

    def __init__(self, lines: Sequence[str], hunks: Sequence[Hunk]) -> None:
        self._lines = lines
        self._hunks = hunks

    @cached_property
    def _signs(self) -> dict[str, str]:
        different = dict.fromkeys(line for hunk in self._hunks for line in hunk.old)
        return {line: chr(number) for number, line in enumerate(different, 1)}

    @cached_property
    def _text(self) -> str:
        return "".join([self._signs.get(line, "\0") for line in self._lines])

    def of(self, old: Sequence[str], start: int) -> Iterator[int]:
        """Yield where these lines of a hunk stand, from ``start`` on."""
        passage = "".join([self._signs[line] for line in old])
        at = self._text.find(passage, start)
        while at >= 0:
            yield at
            at = self._text.find(passage, at + 1)


def _find(
    lines: Sequence[str], old: Sequence[str], wanted: int, start: int, places: _Places
) -> int | str:
    """Where a hunk's lines stand, from ``start`` on; the place that it names before any other."""
    if not old:
        return min(max(wanted, start), len(lines))
    if wanted >= start and list(lines[wanted : wanted + len(old)]) == list(old):
        return wanted
    found = list(islice(places.of(old, start), MAX_PLACES))
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(str(place + 1) for place in found)
        return f"its lines stand at several places (lines {listed}) and not at line {wanted + 1}"
    return _difference(lines, old, wanted)


def _difference(lines: Sequence[str], old: Sequence[str], wanted: int) -> str:
    for offset, line in enumerate(old):
        number = wanted + offset
        if number >= len(lines):
            return f"it wants {clip(repr(line), 160)} at line {number + 1}, after the file's end"
        if lines[number] != line:
            return (
                f"it wants {clip(repr(line), 160)} at line {number + 1}, "
                f"where there is {clip(repr(lines[number]), 160)}"
            )
    return "its lines overlap those of the hunk before it"
