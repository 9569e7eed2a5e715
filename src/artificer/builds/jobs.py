"""Wishes of a build: effects that somebody else performs, each answered by one fact.

``key`` is the same after a crash and different for everything else: performing a wish again with
the same key must come to the same.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeGuard

from artificer.builds.facts import Checked
from artificer.builds.table import LoopKind, Pass
from artificer.values.base import Digest, Value


class StepId(Value):
    """Which work of a build: the plan, a spec, a phase, or a phase's code."""

    kind: LoopKind
    spec: str = ""
    phase: str = ""

    @property
    def path(self) -> str:
        """As a path, such as ``code/auth/schema``."""
        return "/".join(filter(None, (self.kind, self.spec, self.phase)))


class Tip(Value):
    """What a spec came to: the commit at which its phases are done."""

    spec: str
    commit: str


class StartRun(Value, tag_field="type"):
    """Start, or take up, the run with this key. ``commit`` is the tree it works in or reads.

    Answered by RunReturned.
    """

    type: ClassVar[Literal["StartRun"]] = "StartRun"
    key: Digest
    step: StepId
    attempt: int
    review: Pass
    commit: str


class CancelRun(Value, tag_field="type"):
    """End the run that a StartRun with this key started. Not answered."""

    type: ClassVar[Literal["CancelRun"]] = "CancelRun"
    key: Digest
    step: StepId
    reason: str


class Check(Value, tag_field="type"):
    """Validate what the run with the key ``run`` made. Answered by Checked.

    Of code: commit what is in scope on top of ``commit``, and run the phase's validation command
    on that very tree. Of other steps: ask a judge. ``nothing`` says that the code run claims
    that nothing had to be done; if its tree is as it was and passes, a judge is asked whether that
    is true, by another such wish with ``judged``.
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
        """Whether a judge performs it, and not a command."""
        return self.judged or self.step.kind != "code"


class AskDecision(Value, tag_field="type"):
    """Ask a person about the plan with this digest. Answered by Decided."""

    type: ClassVar[Literal["AskDecision"]] = "AskDecision"
    key: Digest
    digest: Digest


class AskConsent(Value, tag_field="type"):
    """Ask a person about a change that passed but proves too little, or changes what only a person
    may change. ``check`` is the wish that found it, ``checked`` what it found.

    Answered by ConsentGiven with the digest, which is of the concerns and of both commits.
    """

    type: ClassVar[Literal["AskConsent"]] = "AskConsent"
    key: Digest
    digest: Digest
    check: Check
    checked: Checked

    @property
    def step(self) -> StepId:
        """Whose change it is."""
        return self.check.step


class PrepareBase(Value, tag_field="type"):
    """Merge ``tips``, in this order, onto ``base``. Answered by BasePrepared or BaseRefused."""

    type: ClassVar[Literal["PrepareBase"]] = "PrepareBase"
    key: Digest
    spec: str
    base: str
    tips: tuple[Tip, ...]


class MergeSpec(Value, tag_field="type"):
    """Merge a spec into the integration branch, if ``commands`` pass on the merged tree.

    Answered by SpecMerged or MergeRefused. ``onto`` is where the branch has to stand.
    """

    type: ClassVar[Literal["MergeSpec"]] = "MergeSpec"
    key: Digest
    tip: Tip
    onto: str
    commands: tuple[str, ...]


class RebuildIntegration(Value, tag_field="type"):
    """Let the integration branch hold ``tips``, merged in this order onto ``base``, and no more.

    Answered by IntegrationRebuilt or RebuildRefused.
    """

    type: ClassVar[Literal["RebuildIntegration"]] = "RebuildIntegration"
    key: Digest
    base: str
    tips: tuple[Tip, ...]


class FinishBuild(Value, tag_field="type"):
    """The build is over. Not answered."""

    type: ClassVar[Literal["FinishBuild"]] = "FinishBuild"
    key: Digest
    status: Literal["completed", "rejected", "cancelled"]
    reason: str = ""


Wish = (
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
Answered = (
    StartRun | Check | AskDecision | AskConsent | PrepareBase | MergeSpec | RebuildIntegration
)
"""The wishes that stay open until their fact comes."""


def is_run(wish: Wish) -> TypeGuard[StartRun | Check]:
    """Whether a wish is served by a run of a model: an artifact's own, or a judge's."""
    return isinstance(wish, StartRun) or (isinstance(wish, Check) and wish.for_judge)
