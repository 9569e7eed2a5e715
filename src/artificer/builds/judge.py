"""The criteria of judges, and the fact that a verdict becomes."""

from __future__ import annotations

from artificer.artifacts.judgement import Judgement
from artificer.builds.facts import Checked
from artificer.builds.jobs import Check
from artificer.builds.table import StepKind

CRITERIA: dict[StepKind, tuple[str, ...]] = {
    "plan": (
        "The specs together bring about everything that was requested, and nothing else.",
        "Each spec can be built and tested once those it depends on are done.",
        "Whatever several specs must write the same is a constant.",
    ),
    "spec": (
        "The phases together bring about what the plan says of this spec, and nothing else.",
        "No phase needs what only a later one makes.",
        "Each phase can be validated by a command when it is done.",
        "The constants are used exactly as they are.",
    ),
    "phase": (
        "The tasks bring about what the spec says of this phase, and nothing else.",
        "The validation command fails before the tasks are done and succeeds after.",
    ),
    "code": (
        "Every task of the phase was done in the project before the phase began.",
        "Every success criterion of the phase holds in the project as it is.",
    ),
}
"""The criteria for each kind of artifact. Code is validated by its command; a judge only decides
whether nothing had to be done."""


def judged(check: Check, judgement: Judgement | None) -> Checked:
    """Return the fact of a judgement. Without one, the work is not accepted."""
    if judgement is None:
        return Checked(key=check.key, passed=False, report="The judge came to no verdict.")
    criteria = CRITERIA[check.step.kind]
    lines = [
        f"Not met: {criteria[found.criterion - 1]} {found.evidence}"
        for found in judgement.criteria
        if not found.met and found.criterion <= len(criteria)
    ]
    report = "\n".join([*lines, *judgement.problems])
    return Checked(key=check.key, passed=judgement.accepted, report=report, unchanged=check.judged)
