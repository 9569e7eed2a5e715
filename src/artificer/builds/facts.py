"""Facts of a build, in the past tense. The state is computed from them alone.

``key`` names the job that a fact answers. A fact whose job is no longer open changes nothing, so a
repeated or late one is harmless.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from artificer.artifacts.completion import Completion
from artificer.artifacts.phase import Phase
from artificer.artifacts.plan import Plan
from artificer.artifacts.spec import Spec
from artificer.builds.table import Pass, Size, StepKind
from artificer.values.base import CheckedValue, Count, Digest, Meta, Text, Value
from artificer.values.canon import MAX_SAFE_INTEGER

ConcernKind = Literal["control", "tests", "check", "regression", "old_failure"]
"""Concerns for a person to decide: control files, weakened tests, a rewritten check, a check that
passed before, tests that failed before."""

AGREED: tuple[ConcernKind, ...] = ("regression", "old_failure")
"""The concerns that a person may agree to in advance, because they are not about a file."""


class Concern(Value):
    """The reason why a validated change needs a person's consent."""

    kind: ConcernKind
    text: Text


class BuildOptions(CheckedValue):
    """The limits and choices of a build.

    ``parallel`` is how many specs are worked on at once, ``runs`` how many runs the build may
    start, ``repeats`` how often the same failure may come back. ``attempts`` overrides how many
    runs may fail at one artifact. ``judge`` names the kinds whose artifacts a judge has to accept.
    ``passes`` are the review passes, where they are not those of ``size``. ``agreed`` are concerns
    that no longer need consent. ``turns`` and ``run_tokens`` bound each code run.
    """

    parallel: Count = 3
    runs: Count = 200
    repeats: Annotated[int, Meta(ge=2, le=MAX_SAFE_INTEGER)] = 3
    attempts: Count | None = None
    merges: Count = 2
    size: Size = "medium"
    passes: tuple[Pass, ...] | None = None
    judge: tuple[StepKind, ...] = ()
    agreed: tuple[ConcernKind, ...] = ()
    turns: Count | None = None
    run_tokens: Count | None = None


class BuildRequested(Value, tag_field="type"):
    """A person requested software. ``build`` is the id of the build's run, ``base`` the commit it
    starts from. With ``brief`` there is nothing to plan: one phase is given, and only coded."""

    type: ClassVar[Literal["BuildRequested"]] = "BuildRequested"
    build: str
    request: str
    base: str
    options: BuildOptions = BuildOptions()
    brief: Phase | None = None


Made = Plan | Spec | Phase | Completion
"""The artifacts that runs of a build deliver."""


class RunReturned(Value, tag_field="type"):
    """A run of the build ended. ``artifact`` is its required artifact.

    ``outcome`` is ``made`` only with that artifact. ``detail`` is the reason of a failure.
    """

    type: ClassVar[Literal["RunReturned"]] = "RunReturned"
    key: Digest
    outcome: Literal["made", "failed", "cancelled"]
    artifact: Made | None = None
    detail: Text = ""


Standing = Literal["waiting", "paused", "stalled"]
"""The state of an idle run that has not finished."""


class RunRested(Value, tag_field="type"):
    """A run of the build became idle before its end, and why. Its job stays open: when the
    build is resumed, so is the run."""

    type: ClassVar[Literal["RunRested"]] = "RunRested"
    key: Digest
    run: str
    standing: Standing
    reason: Text = ""


class Checked(Value, tag_field="type"):
    """The work of a run was validated. ``report`` is the validators' own output.

    Of code, ``commit`` is what was validated, ``outside`` the changed files that are not in the
    phase's scope and were left out, ``unchanged`` says that there was nothing to commit.

    ``concerns`` are for a person to decide about: with them, the change counts only by consent.
    ``refused`` are the files that are not committed, each with the reason. ``tests`` is how many
    were executed, ``tests_before`` how many on the tree before the change, where the runner says
    so; ``passed_before`` says whether the check passed there. ``sandbox`` names what held it.
    """

    type: ClassVar[Literal["Checked"]] = "Checked"
    key: Digest
    passed: bool
    report: Text = ""
    commit: str = ""
    outside: tuple[Text, ...] = ()
    unchanged: bool = False
    concerns: tuple[Concern, ...] = ()
    notes: tuple[Text, ...] = ()
    refused: tuple[Text, ...] = ()
    tests: int | None = None
    tests_before: int | None = None
    passed_before: bool | None = None
    sandbox: Text = ""


class ConsentGiven(Value, tag_field="type"):
    """A person decided about the change with this digest, which had concerns."""

    type: ClassVar[Literal["ConsentGiven"]] = "ConsentGiven"
    key: Digest
    digest: Digest
    granted: bool
    by: Text
    reason: Text = ""


PlanDecision = Literal["approve", "reject", "iterate"]
"""A person's decision about a plan."""


class Decided(Value, tag_field="type"):
    """A person decided about the plan with this digest, asked with this key.

    ``approve`` starts the work, ``reject`` ends it, ``iterate`` asks for another plan. The key
    keeps an old decision from counting when the same plan is made once more.
    """

    type: ClassVar[Literal["Decided"]] = "Decided"
    key: Digest
    digest: Digest
    decision: PlanDecision
    by: Text
    reason: Text = ""


class BasePrepared(Value, tag_field="type"):
    """A spec can start: ``commit`` holds its merged dependencies."""

    type: ClassVar[Literal["BasePrepared"]] = "BasePrepared"
    key: Digest
    commit: str


class BaseRefused(Value, tag_field="type"):
    """The dependencies of a spec conflict with each other."""

    type: ClassVar[Literal["BaseRefused"]] = "BaseRefused"
    key: Digest
    report: Text


class SpecMerged(Value, tag_field="type"):
    """A spec is in the integration branch, and the merged tree passed its validation."""

    type: ClassVar[Literal["SpecMerged"]] = "SpecMerged"
    key: Digest
    integration: str


class MergeRefused(Value, tag_field="type"):
    """A spec is not in the integration branch: a conflict, or the merged tree failed."""

    type: ClassVar[Literal["MergeRefused"]] = "MergeRefused"
    key: Digest
    cause: Literal["conflict", "validation"]
    report: Text


class IntegrationRebuilt(Value, tag_field="type"):
    """The integration branch holds exactly the specs that were kept."""

    type: ClassVar[Literal["IntegrationRebuilt"]] = "IntegrationRebuilt"
    key: Digest
    integration: str


class RebuildRefused(Value, tag_field="type"):
    """A kept spec no longer merges without those that were taken out."""

    type: ClassVar[Literal["RebuildRefused"]] = "RebuildRefused"
    key: Digest
    spec: str
    report: Text


class RevisionRequested(Value, tag_field="type"):
    """Somebody wants another plan after work began. Work goes on until it is approved."""

    type: ClassVar[Literal["RevisionRequested"]] = "RevisionRequested"
    feedback: Text
    by: Text


class RetryRequested(Value, tag_field="type"):
    """Somebody wants failed work tried again, with a fresh budget. No ``spec`` is the plan."""

    type: ClassVar[Literal["RetryRequested"]] = "RetryRequested"
    spec: str = ""
    hint: Text = ""
    by: Text = ""


class BuildCancelRequested(Value, tag_field="type"):
    """Somebody wants the build to end. Journals hold it as ``CancelRequested``."""

    type: ClassVar[Literal["CancelRequested"]] = "CancelRequested"
    reason: Text
    by: Text = ""


Fact = (
    BuildRequested
    | RunReturned
    | RunRested
    | Checked
    | Decided
    | ConsentGiven
    | BasePrepared
    | BaseRefused
    | SpecMerged
    | MergeRefused
    | IntegrationRebuilt
    | RebuildRefused
    | RevisionRequested
    | RetryRequested
    | BuildCancelRequested
)
