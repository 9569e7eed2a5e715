"""Tests that a change weakens: deleted, emptied, made shorter, or skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FOLDERS = {"test", "tests", "__tests__", "spec", "specs", "testing"}
_NAME = re.compile(
    r"(?i)^(test_.*\.py|.*_tests?\.(py|go|rb|exs?|dart|cc|cpp|c)|tests?\.py"
    r"|.*[._-](test|spec)\.[cm]?[jt]sx?|.*_spec\.(rb|lua)|.*tests?\.(java|kt|cs|php|swift|scala))$"
)
_CODE = re.compile(r"(?i)\.(py|[cm]?[jt]sx?|go|rs|rb|java|kt|cs|php|swift|exs?|sh|bats|c|cc|cpp)$")

_CASES = re.compile(
    r"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*"  # Python, Ruby
    r"|\b(?:it|test|specify)(?:\.each\b[^\n]*?)?[ \t]*\("  # JavaScript
    r"|^func[ \t]+(?:Test|Fuzz|Example)\w*"  # Go
    r"|#\[(?:\w+::)*test\b|@Test\b|@ParameterizedTest\b|\[(?:Fact|Theory|Test)\b"
    r"|^[ \t]*(?:it|specify|test)[ \t]+[\"']|^@test\b|function[ \t]+test\w+",
    re.MULTILINE,
)
_CLAIMS = re.compile(
    r"\bassert\w*\b|\bexpect\w*\(|\bt\.(?:Error|Fatal|Fail)\w*\(|\brequire\.\w+\(|\bpanic!"
    r"|\bshould\b|\braises\("
)
_SKIPS = re.compile(
    r"@(?:unittest\.|pytest\.mark\.)?(?:skip|skipIf|skipUnless|skipif|xfail|expectedFailure)\b"
    r"|\bpytestmark\b[^\n]*(?:skip|xfail)|\bself\.skipTest\(|\bSkipTest\b"
    r"|\bpytest\.(?:skip|xfail|importorskip)\("
    r"|\b(?:it|test|describe|suite|context)\.(?:skip|todo|only|fixme)\b|\bx(?:it|describe|test)\("
    r"|\bf(?:it|describe)\(|\bskip:[ \t]*(?:true|[\"'])|\bt\.Skip\w*\(|#\[ignore\b"
    r"|@(?:Disabled|Ignore)\b|\bcollect_ignore\b|__test__[ \t]*=[ \t]*False"
)


def is_test(path: str) -> bool:
    """Whether a path is a file of tests, by the usual names."""
    *folders, name = path.split("/")
    return bool(_NAME.match(name)) or bool(
        _FOLDERS & {folder.lower() for folder in folders} and _CODE.search(name)
    )


@dataclass(frozen=True)
class FileChange:
    """A file in two versions; None if there is none. ``path`` is the newer name."""

    path: str
    before: str | None
    after: str | None
    old_path: str = ""


MAX_TEXT = 400_000
"""Characters of a file that is looked at; of one that is longer, a person has to know."""

MAX_LINE = 1_000


def readable(text: str) -> str:
    """As much of a file as is looked at, so that no file can keep us busy."""
    cut = text[:MAX_TEXT]
    return "\n".join(line[:MAX_LINE] for line in cut.split("\n"))


def weakened(change: FileChange) -> Iterator[str]:
    """How a change makes a file of tests prove less, in clauses."""
    if change.after is not None and is_test(change.path) and len(change.after) > MAX_TEXT // 2:
        yield f"{change.path} is too long to be looked at"
    was = change.old_path or change.path
    if change.before is not None and is_test(was):
        if change.after is None:
            yield f"{was} was deleted"
            return
        if not is_test(change.path):
            yield f"{was} became {change.path}, which no runner takes for tests"
        yield from _less(change.path, change.before, change.after)
    if change.after is not None and is_test(change.path):
        yield from _skipped(change)


def _less(path: str, before: str, after: str) -> Iterator[str]:
    if before.strip() and not after.strip():
        yield f"{path} was emptied"
        return
    for what, pattern in (("tests", _CASES), ("assertions", _CLAIMS)):
        had, has = _count(pattern, before), _count(pattern, after)
        if has < had:
            yield f"{path} has {has} {what}, and had {had}"
            return
    had, has = len(before.split("\n")), len(after.split("\n"))
    if not _count(_CASES, before) and has * 2 < had:
        yield f"{path} has {has} lines, and had {had}"


def _skipped(change: FileChange) -> Iterator[str]:
    had, has = _count(_SKIPS, change.before or ""), _count(_SKIPS, change.after or "")
    if has > had:
        yield f"{change.path} skips or narrows tests in {has} places, before in {had}"


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))
