"""The versions of the reducer's rules. A run keeps the version with which it began (invariant 5).

A change to what the reducer does with the same events would make recorded runs diverge. So the
rule stays as it was for runs of an older version, and :data:`RULES` goes up by one with a release
that changes any. ``RunSpec.rules`` records the version.

1. The rules of the first journals.
2. Changes of repairs, notes and reports, each behind a question to :func:`since`.
3. Calls have labels, and artifacts can be bound to results (:mod:`artificer.core.sources`). A call
   stays open while the run that it started is idle (:mod:`artificer.core.waits`).
4. A call that was demanded and refused is demanded again (:mod:`artificer.core.demands`). The
   resources of a call are made of the defaults of its arguments, too.
"""

from __future__ import annotations

from typing import Protocol

from artificer.errors import OperatorError

RULES = 4
"""The version with which runs begin now."""


class Ruled(Protocol):
    """A spec, for its run's kind and the version of its rules."""

    @property
    def kind(self) -> str:
        """The kind of the run."""

    @property
    def rules(self) -> int:
        """The version."""


def keeps_reports(spec: Ruled) -> bool:
    """Whether a run's report outlives the messages after it (:mod:`artificer.core.reports`)."""
    return spec.kind == "deliver" and since(spec, 2)


def check_known(spec: Ruled) -> None:
    """Refuse rules that this release does not know.

    Raises:
        OperatorError: a newer release began the run.
    """
    if spec.rules > RULES:
        raise OperatorError(
            f"This run follows rules of version {spec.rules}; this release knows up to {RULES}.",
            hint="Use the release that started it, or a newer one.",
        )


def since(spec: Ruled, version: int) -> bool:
    """Whether a run follows the rules of ``version``, or of a later one."""
    return spec.rules >= version
