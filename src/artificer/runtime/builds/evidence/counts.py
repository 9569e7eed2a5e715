"""How many tests a runner says that it has run, and which of them failed.

A runner that is not known, or says nothing, gives no count: that is None, and never zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
MAX_LINE = 400
"""Characters of a line that is looked at: a runner's own are short, and programs print anything."""

MAX_FAILED = 200
"""Names of failed tests that are kept."""


@dataclass(frozen=True)
class Counted:
    """Tests that were executed, tests that were skipped, and the names of those that failed."""

    executed: int
    skipped: int = 0
    failed: frozenset[str] = frozenset()


def counted(output: str) -> Counted | None:
    """Read the counts in a program's output; several runners in one output are added up."""
    lines = _ANSI.sub("", output).splitlines()
    text = "\n".join(line for line in lines if len(line) <= MAX_LINE)
    found = [made for read in _RUNNERS if (made := read(text)) is not None]
    if not found:
        return None
    failed = frozenset(sorted(name for one in found for name in one.failed)[:MAX_FAILED])
    return Counted(sum(one.executed for one in found), sum(one.skipped for one in found), failed)


def _sum(pattern: str, text: str) -> int:
    return sum(int(number) for number in re.findall(pattern, text, re.MULTILINE))


def _names(pattern: str, text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in re.findall(pattern, text, re.MULTILINE))


def _unittest(text: str) -> Counted | None:
    """``Ran 3 tests in 0.001s`` and ``OK (skipped=1)``."""
    ran = re.findall(r"^Ran (\d+) tests? in ", text, re.MULTILINE)
    if not ran:
        return None
    skipped = _sum(r"^(?:OK|FAILED|NO TESTS RAN) \(.*?skipped=(\d+)", text)
    failed = _names(r"^(?:FAIL|ERROR): (\S+ \([^)\n]+\))", text)
    lost = sum("_FailedTest" in name for name in failed)  # a module that cannot be imported
    return Counted(max(0, sum(map(int, ran)) - skipped - lost), skipped, failed)


_PYTEST = re.compile(
    r"^=* ?((?:\d+ (?:subtests )?[a-z]+(?:, )?)+|no tests ran) in \d+[\d.]*s.*$", re.MULTILINE
)
_SUBFAILED = r"^SUBFAILED.*? (\S+::\S+)"


def _pytest(text: str) -> Counted | None:
    """``3 passed, 1 skipped in 0.01s``, or ``no tests ran in 0.01s``.

    Subtests are not tests of their own. One that fails is counted by pytest as if it were.
    """
    lines = _PYTEST.findall(text)
    if not lines:
        return None
    counts = "\n".join(lines)
    executed = _sum(r"(\d+) (?:passed|failed|xpassed)", counts)
    executed -= len(re.findall(_SUBFAILED, text, re.MULTILINE))
    skipped = _sum(r"(\d+) (?:skipped|xfailed)", counts)
    failed = _names(r"^(?:FAILED|ERROR) (\S+)", text) | _names(_SUBFAILED, text)
    return Counted(max(0, executed), skipped, failed)


def _tap(text: str) -> Counted | None:
    """``# tests 3`` of node's runner, or lines of TAP: ``ok 1 - name``."""
    totals = re.findall(r"^(?:#|ℹ) tests (\d+)", text, re.MULTILINE)  # node's sign
    failed = _names(r"^not ok \d+ (?:- )?(.*)$", text)
    failed |= _names(r"^[ \t]*✖ (.+)$", text)
    if totals:
        skipped = _sum(r"^(?:#|ℹ) skipped (\d+)", text)
        return Counted(max(0, sum(map(int, totals)) - skipped), skipped, failed)
    lines = re.findall(r"^(?:not )?ok \d+\b.*$", text, re.MULTILINE)
    if not lines and not re.search(r"^1\.\.\d+", text, re.MULTILINE):
        return None
    skipped = sum("# skip" in line.lower() or "# todo" in line.lower() for line in lines)
    return Counted(len(lines) - skipped, skipped, failed)


def _go(text: str) -> Counted | None:
    """``--- PASS: TestX`` with -v; without it, only whether there is anything to run."""
    if re.search(r"^=== RUN", text, re.MULTILINE):
        ran = len(re.findall(r"^[ \t]*--- (?:PASS|FAIL): ", text, re.MULTILINE))
        skipped = len(re.findall(r"^[ \t]*--- SKIP: ", text, re.MULTILINE))
        return Counted(ran, skipped, _names(r"^[ \t]*--- FAIL: (\S+)", text))
    empty = len(re.findall(r"\[no test(?: files|s to run)\]", text))
    packages = len(re.findall(r"^(?:ok|FAIL|\?)[ \t]+\S+", text, re.MULTILINE))
    return Counted(0) if empty and packages <= empty else None


def _cargo(text: str) -> Counted | None:
    """``test result: ok. 3 passed; 0 failed; 1 ignored``."""
    if not re.search(r"^test result: ", text, re.MULTILINE):
        return None
    line = r"^test result: .*?(\d+) "
    return Counted(
        _sum(line + "passed", text) + _sum(r"^test result: .*?(\d+) failed", text),
        _sum(r"^test result: .*?(\d+) ignored", text),
        _names(r"^test (\S+) \.\.\. FAILED", text),
    )


def _jest(text: str) -> Counted | None:
    """``Tests: 1 failed, 2 passed, 3 total`` of jest; ``Tests  2 passed (2)`` of vitest."""
    lines = re.findall(
        r"^[ \t]*Tests:?[ \t]+(\d+ (?:failed|passed|skipped|todo)\b.*)$", text, re.MULTILINE
    )
    if not lines:
        none = re.search(r"^(?:No tests found|No test files found)", text, re.MULTILINE)
        return Counted(0) if none else None
    counts = "\n".join(lines)
    failed = _names(r"^[ \t]*● (.+)$", text) | _names(r"^[ \t]*FAIL[ \t]+(.+)$", text)
    return Counted(_sum(r"(\d+) (?:passed|failed)", counts), _sum(r"(\d+) skipped", counts), failed)


def _others(text: str) -> Counted | None:
    """mocha's ``3 passing``, rspec's ``3 examples``, JUnit's ``Tests run: 3``, PHPUnit's totals."""
    if re.search(r"^[ \t]+\d+ passing\b", text, re.MULTILINE):
        ran = _sum(r"^[ \t]+(\d+) (?:passing|failing)\b", text)
        return Counted(ran, _sum(r"^[ \t]+(\d+) pending\b", text))
    if re.search(r"^\d+ examples?, \d+ failures?", text, re.MULTILINE):
        pending = _sum(r"^\d+ examples?, \d+ failures?, (\d+) pending", text)
        return Counted(_sum(r"^(\d+) examples?,", text) - pending, pending)
    totals = re.findall(
        r"^(?:\[\w+\] )?Tests run: (\d+), .*?Skipped: (\d+)[ \t]*$", text, re.MULTILINE
    )
    if totals:
        ran, skipped = map(int, totals[-1])
        return Counted(ran - skipped, skipped)
    if "No tests executed!" in text:
        return Counted(0)
    php = re.findall(r"^(?:OK \(|Tests: )(\d+)(?: tests?)?, ", text, re.MULTILINE)
    return Counted(sum(map(int, php))) if php else None


_IDLE_MAKE = re.compile(
    r"make(?:\[\d+\])?: (?:[`'].+' is up to date\.|Nothing to be done for [`'].+'\."
    r"|(?:Entering|Leaving) directory [`'].+')"
)


def _idle_make(text: str) -> Counted | None:
    """``make: 'test' is up to date.``: a file has the target's name, or it has no recipe."""
    lines = [line for line in text.splitlines() if line.strip()]
    idle = bool(lines) and all(_IDLE_MAKE.fullmatch(line.strip()) for line in lines)
    return Counted(0) if idle else None


_RUNNERS: tuple[Callable[[str], Counted | None], ...] = (
    _unittest,
    _pytest,
    _tap,
    _go,
    _cargo,
    _jest,
    _others,
    _idle_make,
)
