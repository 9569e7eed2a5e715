"""The versions of the reducer's rules. A run keeps the version with which it began (invariant 5).

A change to what the reducer does with the same events would make recorded runs diverge. So the
rule stays as it was for runs of an older version, and :data:`RULES` goes up by one with a release
that changes any. ``RunSpec.rules`` records the version.

1. The rules of the first journals.
2. Changes since, each behind a question to :func:`since`.
"""

from __future__ import annotations

from artificer.core.spec import RunSpec

RULES = 2
"""The version with which runs begin now."""


def keeps_reports(spec: RunSpec) -> bool:
    """Whether a run's report outlives what is said after it (:mod:`artificer.core.reports`)."""
    return spec.kind == "deliver" and since(spec, 2)


def since(spec: RunSpec, version: int) -> bool:
    """Whether a run follows the rules of ``version``, or of a later one."""
    return spec.rules >= version
