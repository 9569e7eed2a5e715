"""Weighing a validation: what it shows, compared with the same check before the change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from artificer.builds.facts import Concern, ConcernKind
from artificer.runtime.builds.evidence.checks import defines, rewritten
from artificer.runtime.builds.evidence.control import is_control
from artificer.runtime.builds.evidence.counts import Counted
from artificer.runtime.builds.evidence.tests import FileChange, weakened
from artificer.values.text import clip, well_formed

MAX_CONCERNS = 40
"""Concerns that are named one by one."""

NO_TEST = (
    "No test ran, so nothing was proven. A check counts only if it executes tests: write them where"
    " the command finds them."
)


@dataclass(frozen=True)
class Validation:
    """The result of running a check.

    ``counted`` is None if the runner says no number. ``sandbox`` names what held it.
    """

    passed: bool
    report: str
    counted: Counted | None = None
    sandbox: str = ""


@dataclass(frozen=True)
class Weighed:
    """A validation with what it is worth.

    ``concerns`` are for a person to decide about; then ``passed`` alone decides nothing.
    """

    passed: bool
    report: str
    concerns: tuple[Concern, ...] = ()
    notes: tuple[str, ...] = field(default_factory=tuple)


def weigh(
    line: str,
    before: Validation,
    after: Validation,
    changes: Sequence[FileChange],
    base: Callable[[str], str | None],
) -> Weighed:
    """Weigh a check of a change. ``before`` is the same check on the tree that it began from."""
    found = tuple(_concerns(line, before, after, changes, base))[:MAX_CONCERNS]
    notes = tuple(_notes(before, after))
    if not after.passed:
        if only_old_failures(before, after):
            names = ", ".join(sorted(after.counted.failed)[:10]) if after.counted else ""
            old = _concern("old_failure", f"The check fails as it did before the change: {names}")
            return Weighed(False, after.report, (old, *found), notes)
        lines = [*notes, *(f"Besides: {concern.text}." for concern in found)]
        return Weighed(False, "\n".join([after.report, *lines]))
    if after.counted is not None and after.counted.executed == 0:
        return Weighed(False, f"{NO_TEST}\n{after.report}")
    return Weighed(True, "", found, notes)


def only_old_failures(before: Validation, after: Validation) -> bool:
    """Whether all that fails is tests that ran and failed before as well, and as many ran."""
    then, now = before.counted, after.counted
    if before.passed or then is None or now is None or not now.failed:
        return False
    loaded = all("_FailedTest" not in name and _is_one(name) for name in now.failed)
    return loaded and now.failed <= then.failed and now.executed >= then.executed > 0


def _is_one(name: str) -> bool:
    """Whether a name is that of a test, and not of a file that could not be loaded."""
    return "::" in name or not name.endswith((".py", ".js", ".ts"))


def _concerns(
    line: str,
    before: Validation,
    after: Validation,
    changes: Sequence[FileChange],
    base: Callable[[str], str | None],
) -> Iterator[Concern]:
    for change in changes:
        for path in sorted({change.path, change.old_path} - {""}):
            if is_control(path):
                yield _concern("control", f"{path} is a control file")
    for change in changes:
        yield from (_concern("tests", text) for text in weakened(change))
    yield from (_concern("tests", text) for text in _fewer(before, after))
    yield from (_concern("check", text) for text in rewritten(line, changes, base))
    if after.counted is None:
        made = [change.path for change in changes if defines(line, change)]
        yield from (_concern("check", f"{path} makes the check itself") for path in made)
    if after.passed and before.passed and not _more(before, after):
        how = _how_many(before, after)
        text = f"The check passed before the change too, and no further test ran ({how})"
        yield _concern("regression", text)


def _fewer(before: Validation, after: Validation) -> Iterator[str]:
    then, now = before.counted, after.counted
    if then is None or now is None:
        return
    if now.executed < then.executed:
        yield f"{now.executed} tests ran, before the change {then.executed}"
    if now.skipped > then.skipped:
        yield f"{now.skipped} tests were skipped, before the change {then.skipped}"


def _more(before: Validation, after: Validation) -> bool:
    then, now = before.counted, after.counted
    return now is not None and now.executed > (then.executed if then else 0) and bool(then)


def _notes(before: Validation, after: Validation) -> Iterator[str]:
    if after.passed and after.counted is None:
        yield "The runner says no number of tests: count unknown."
    if not before.passed and not after.passed:
        then, now = before.counted, after.counted
        old = sorted(then.failed & now.failed) if then and now else []
        yield "The check failed before the change, too."
        if old:
            yield f"These failed before the change as well: {', '.join(old[:10])}."


def _how_many(before: Validation, after: Validation) -> str:
    then, now = before.counted, after.counted
    if then is None or now is None:
        return "count unknown"
    return f"{then.executed} before, {now.executed} after"


def _concern(kind: ConcernKind, text: str) -> Concern:
    return Concern(kind=kind, text=clip(well_formed(text), 400))
