"""The jobs of a build: effects for the impure half to perform, each answered by one fact.

``key`` is the same after a crash and different for every other job. Performing a job again with the
same key must give the same result.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeGuard

from artificer.builds.facts import Checked
from artificer.builds.table import Pass, StepKind
from artificer.values.base import Digest, Value


class StepId(Value):
    """A step of a build: the plan, a spec, a phase, or a phase's code."""

    kind: StepKind
    spec: str = ""
    phase: str = ""

    @property
    def path(self) -> str:
        """The step as a path, such as ``code/auth/schema``."""
        return "/".join(filter(None, (self.kind, self.spec, self.phase)))


class SpecTip(Value):
    """The commit of a spec at which its phases are done."""

    spec: str
    commit: str


class StartRun(Value, tag_field="type"):
    """Start or resume the run with this key. ``commit`` is the tree it works in or reads.

    Answered by RunReturned.
    """

    type: ClassVar[Literal["StartRun"]] = "StartRun"
    key: Digest
    step: StepId
    attempt: int
    review: Pass
    commit: str


class CancelRun(Value, tag_field="type"):
    """End the run that the StartRun with this key started. Not answered."""

    type: ClassVar[Literal["CancelRun"]] = "CancelRun"
    key: Digest
    step: StepId
    reason: str


class Check(Value, tag_field="type"):
    """Validate the work of the run with the key ``run``. Answered by Checked.

    For code: commit the changes in scope on top of ``commit``, and run the phase's validation
    command on that tree. For other steps: ask a judge. ``nothing`` means that the code run claims
    that nothing had to be done; if its tree is unchanged and passes, a judge decides whether that
    is true, in another Check with ``judged``.
    """

    type: ClassVar[Literal["Check"]] = "Check"
    key: Digest
    step: StepId
    run: Digest
    attempt: int
    commit: str
    nothing: bool = False
    judged: bool = False

    @property
    def for_judge(self) -> bool:
        """Whether a judge performs it, not a command."""
        return self.judged or self.step.kind != "code"


class AskDecision(Value, tag_field="type"):
    """Ask a person about the plan with this digest. Answered by Decided."""

    type: ClassVar[Literal["AskDecision"]] = "AskDecision"
    key: Digest
    digest: Digest


class AskConsent(Value, tag_field="type"):
    """Ask a person about a change that passed but proves too little, or changes files that only a
    person may change. ``check`` is the job that found it, ``checked`` its result.

    Answered by ConsentGiven with the digest, which covers the concerns and both commits.
    """

    type: ClassVar[Literal["AskConsent"]] = "AskConsent"
    key: Digest
    digest: Digest
    check: Check
    checked: Checked

    @property
    def step(self) -> StepId:
        """The step that made the change."""
        return self.check.step


class PrepareBase(Value, tag_field="type"):
    """Merge ``tips``, in this order, onto ``base``. Answered by BasePrepared or BaseRefused."""

    type: ClassVar[Literal["PrepareBase"]] = "PrepareBase"
    key: Digest
    spec: str
    base: str
    tips: tuple[SpecTip, ...]


class MergeSpec(Value, tag_field="type"):
    """Merge a spec into the integration branch, if ``commands`` pass on the merged tree.

    Answered by SpecMerged or MergeRefused. ``onto`` is the commit the branch must be at.
    """

    type: ClassVar[Literal["MergeSpec"]] = "MergeSpec"
    key: Digest
    tip: SpecTip
    onto: str
    commands: tuple[str, ...]


class RebuildIntegration(Value, tag_field="type"):
    """Reset the integration branch to ``tips``, merged in this order onto ``base``.

    Answered by IntegrationRebuilt or RebuildRefused.
    """

    type: ClassVar[Literal["RebuildIntegration"]] = "RebuildIntegration"
    key: Digest
    base: str
    tips: tuple[SpecTip, ...]


class FinishBuild(Value, tag_field="type"):
    """End the build. Not answered."""

    type: ClassVar[Literal["FinishBuild"]] = "FinishBuild"
    key: Digest
    status: Literal["completed", "rejected", "cancelled"]
    reason: str = ""


Job = (
    StartRun
    | CancelRun
    | Check
    | AskDecision
    | AskConsent
    | PrepareBase
    | MergeSpec
    | RebuildIntegration
    | FinishBuild
)
OpenJob = StartRun | Check | AskDecision | AskConsent | PrepareBase | MergeSpec | RebuildIntegration
"""The jobs that stay open until their fact arrives."""


def is_run(job: Job) -> TypeGuard[StartRun | Check]:
    """Return whether a run of a model performs the job: the artifact's own, or a judge's."""
    return isinstance(job, StartRun) or (isinstance(job, Check) and job.for_judge)
