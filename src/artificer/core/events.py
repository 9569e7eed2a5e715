"""Events: facts in the past tense. Time and identity arrive inside them, and so does most wording
that a model is shown (invariants 4 and 5). The reducer composes a few sentences itself, such as the
one about repetition (:mod:`artificer.core.repeats`): these are formats, as a replay composes them
again.

``at`` is milliseconds since 1970-01-01 UTC. ``intent`` is the number of the intent that an event
is the receipt of.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from artificer.artifacts.handover import Handover
from artificer.artifacts.ref import ArtifactRef, DeliverableStatus, Finding
from artificer.artifacts.withdraw import Withdrawal
from artificer.builds.facts import Fact
from artificer.core.spec import RunSpec
from artificer.core.taint import Taint
from artificer.core.verdict import Verdict
from artificer.core.waits import IdleStanding
from artificer.values.base import Digest, Text, Value
from artificer.values.blocks import AttachedBlock, Block, CallStatus
from artificer.values.model import FailureCode, StopReason, Usage


class _Event(Value, tag_field="type"):
    at: int


class PromptReceived(_Event):
    """The run begins. ``release`` is the version of Artificer that wrote the journal."""

    type: ClassVar[Literal["PromptReceived"]] = "PromptReceived"
    spec: RunSpec
    release: str


class ModelResponded(_Event):
    """A complete reply. ``raw`` is the blob of the provider's own response.

    ``usage`` is what counts; ``reported`` are the provider's numbers, where they cannot be true.
    """

    type: ClassVar[Literal["ModelResponded"]] = "ModelResponded"
    intent: int
    blocks: tuple[Block, ...]
    stop: StopReason
    usage: Usage
    model: str
    response_id: str
    attempts: int
    duration_ms: int
    cost_micros: int | None = None
    raw: Digest | None = None
    reported: Usage | None = None


class ModelFailed(_Event):
    """No reply, after all attempts."""

    type: ClassVar[Literal["ModelFailed"]] = "ModelFailed"
    intent: int
    code: FailureCode
    message: str
    attempts: int
    duration_ms: int
    raw: Digest | None = None


class ContextCompacted(_Event):
    """The first ``upto`` messages are no longer sent: the model reads ``content`` in their place.

    ``summary`` is what a model wrote of them, and part of ``content``.
    """

    type: ClassVar[Literal["ContextCompacted"]] = "ContextCompacted"
    intent: int
    upto: int
    summary: Text
    content: Text
    usage: Usage
    model: str
    response_id: str
    attempts: int
    duration_ms: int
    cost_micros: int | None = None
    raw: Digest | None = None


class CompactionFailed(_Event):
    """The first ``upto`` messages are dropped without a summary; ``content`` informs the model.

    They are not where the run then asks another model, or waits for its budget.

    Besides a model's failures, ``code`` is ``empty_summary``, or ``not_asked`` where the run has
    no budget for a summary, or wants none.
    """

    type: ClassVar[Literal["CompactionFailed"]] = "CompactionFailed"
    intent: int
    upto: int
    code: FailureCode | Literal["empty_summary", "not_asked"]
    message: str
    content: Text
    usage: Usage = Usage()
    attempts: int = 0
    duration_ms: int = 0
    cost_micros: int | None = None
    raw: Digest | None = None


class CallsJudged(_Event):
    """The gate's verdicts, one per call of the turn, in order."""

    type: ClassVar[Literal["CallsJudged"]] = "CallsJudged"
    intent: int
    verdicts: tuple[Verdict, ...]


class ApprovalAnswered(_Event):
    """A person allowed or denied a call. ``content`` is the model's text about a denial.

    ``letter`` is the number of its signal, or 0 if the question was answered in this process.
    """

    type: ClassVar[Literal["ApprovalAnswered"]] = "ApprovalAnswered"
    intent: int
    approved: bool
    by: Text
    reason: Text
    content: Text
    letter: int = 0


class ToolReturned(_Event):
    """A tool call returned. ``whole`` is the blob of a result too long for ``content``.

    ``artifact`` is what it made, ``withdrawn`` what it took out of the report. ``attachments`` are
    the images, sounds and files that it returned. ``usage`` and ``cost_micros`` are those of a run
    that the call started. ``data`` is the blob of the result as exact JSON, in a run whose
    artifacts can be bound to it. ``taint`` is the untrusted tool whose result the started run
    holds. With a ``handover`` that run's answer is the answer of this one.
    """

    type: ClassVar[Literal["ToolReturned"]] = "ToolReturned"
    intent: int
    status: CallStatus
    content: str
    duration_ms: int
    evidence: str | None = None
    artifact: ArtifactRef | None = None
    whole: Digest | None = None
    withdrawn: Withdrawal | None = None
    attachments: tuple[AttachedBlock, ...] = ()
    usage: Usage | None = None
    cost_micros: int | None = None
    data: Digest | None = None
    taint: Taint | None = None
    handover: Handover | None = None


class CallWaiting(_Event):
    """The ``run`` that a call started is idle before its end: the call stays open (rules 3)."""

    type: ClassVar[Literal["CallWaiting"]] = "CallWaiting"
    intent: int
    run: str
    standing: IdleStanding
    duration_ms: int = 0


class CallContinued(_Event):
    """The run of a call that waits has got a signal, and the call continues."""

    type: ClassVar[Literal["CallContinued"]] = "CallContinued"
    intent: int


class ReplyChecked(_Event):
    """The run's verdict on a reply without calls.

    ``narrative`` is the text now kept for delivery, ``revised`` whether it is this reply's.
    ``request`` is the text that asks the model to try again; None accepts the reply.

    Since rules 2: ``revised`` is whether it is new, from whichever text of these turns; ``cut``
    whether the output limit ended it, ``unwrapped`` whether it was taken out of a Markdown fence.
    ``message`` is a reply that is shown with the narrative. ``unfinished`` is the text so far of a
    reply whose continuation is requested.
    """

    type: ClassVar[Literal["ReplyChecked"]] = "ReplyChecked"
    intent: int
    narrative: str
    findings: tuple[Finding, ...] = ()
    request: str | None = None
    rejected: str | None = None
    revised: bool = False
    cut: bool = False
    unwrapped: bool = False
    message: str = ""
    unfinished: str = ""


class RunResumed(_Event):
    """A process took the run up again. ``epoch`` is its right to write.

    ``unreleased`` says that the one before had not let go of it: it died, or is out of reach.
    """

    type: ClassVar[Literal["RunResumed"]] = "RunResumed"
    epoch: int
    unreleased: bool = False


class CancelRequested(_Event):
    """Someone wants the run to end now. ``content`` is what open calls are answered with."""

    type: ClassVar[Literal["CancelRequested"]] = "CancelRequested"
    reason: Text
    content: str
    by: Text = ""
    letter: int = 0


class InterruptRequested(_Event):
    """Someone wants the run to end when what is in progress has ended.

    ``content`` is what calls that had not begun are answered with.
    """

    type: ClassVar[Literal["InterruptRequested"]] = "InterruptRequested"
    reason: Text
    content: str
    by: Text
    letter: int


class PauseRequested(_Event):
    """Someone wants nothing new to begin until the run is resumed."""

    type: ClassVar[Literal["PauseRequested"]] = "PauseRequested"
    reason: Text
    by: Text
    letter: int


class Steered(_Event):
    """Someone has something to say to the model before its next reply, or to show to it."""

    type: ClassVar[Literal["Steered"]] = "Steered"
    text: Text
    by: Text
    letter: int
    attachments: tuple[AttachedBlock, ...] = ()


class FollowUpReceived(_Event):
    """Someone has more to ask once the run is finished."""

    type: ClassVar[Literal["FollowUpReceived"]] = "FollowUpReceived"
    text: Text
    by: Text
    letter: int
    attachments: tuple[AttachedBlock, ...] = ()


class DoubtResolved(_Event):
    """It is known whether an ambiguous call had happened. The model reads ``content``.

    A person found out; or, where ``letter`` is 0, the late result of that very call came, which
    is the ReceiptIgnored before it.
    """

    type: ClassVar[Literal["DoubtResolved"]] = "DoubtResolved"
    call_id: str
    happened: bool
    reason: Text
    content: Text
    by: Text
    letter: int


class ChecklistTicked(_Event):
    """Someone ticked off an item of a checklist, or took the tick back.

    ``version`` is the digest of the checklist, ``label`` the text of the item, and ``revision`` how
    many changes the person had seen. The model reads ``content`` before its next reply.
    """

    type: ClassVar[Literal["ChecklistTicked"]] = "ChecklistTicked"
    checklist: Text
    version: Digest
    item: Text
    label: Text
    checked: bool
    revision: int
    content: Text
    by: Text
    letter: int


class BuildAdvanced(_Event):
    """A fact for the scheduler of a build: a job was performed, or a person decided.

    ``usage`` and ``cost_micros`` are those of the run that the fact is about.
    """

    type: ClassVar[Literal["BuildAdvanced"]] = "BuildAdvanced"
    fact: Fact
    letter: int = 0
    usage: Usage = Usage()
    cost_micros: int | None = None


class CallProbed(_Event):
    """Before a call was repeated, the world was asked whether it had happened.

    ``happened`` is followed by the call's own ToolReturned, and so is ``unknown``.
    """

    type: ClassVar[Literal["CallProbed"]] = "CallProbed"
    intent: int
    found: Literal["happened", "absent", "unknown"]
    reason: Text = ""


class ReceiptIgnored(_Event):
    """Something came too late to change anything: ``what`` it was, and why.

    ``status`` and ``content`` are those of the late result of a call, if it is one.
    """

    type: ClassVar[Literal["ReceiptIgnored"]] = "ReceiptIgnored"
    what: Text
    reason: Text
    intent: int | None = None
    letter: int = 0
    status: CallStatus | None = None
    content: Text = ""


class Origin(Value):
    """Where a fork comes from: ``hash`` is that of record ``seq`` of ``run``.

    ``changed`` names what of the facts taken over is not as it was recorded there.
    """

    run: str
    seq: int
    hash: Digest
    changed: tuple[str, ...] = ()


class RunForked(_Event):
    """From here on the run is its own: the facts before were taken over from another run.

    ``steer`` is the model's message before the next request, with its ``attachments``.
    """

    type: ClassVar[Literal["RunForked"]] = "RunForked"
    origin: Origin
    steer: Text = ""
    attachments: tuple[AttachedBlock, ...] = ()


class RunPruned(_Event):
    """The tombstone of a run: the contents of its records 1 to ``records`` have been removed."""

    type: ClassVar[Literal["RunPruned"]] = "RunPruned"
    records: int
    by: Text = ""
    reason: Text = ""


class RunFinished(_Event):
    """The run has ended. ``deliverable`` is the blob of what it delivered."""

    type: ClassVar[Literal["RunFinished"]] = "RunFinished"
    intent: int
    status: DeliverableStatus
    deliverable: Digest


Event = (
    PromptReceived
    | ModelResponded
    | ModelFailed
    | ContextCompacted
    | CompactionFailed
    | CallsJudged
    | ApprovalAnswered
    | ToolReturned
    | CallWaiting
    | CallContinued
    | ReplyChecked
    | RunResumed
    | CancelRequested
    | RunForked
    | RunPruned
    | InterruptRequested
    | PauseRequested
    | Steered
    | FollowUpReceived
    | DoubtResolved
    | ChecklistTicked
    | BuildAdvanced
    | CallProbed
    | ReceiptIgnored
    | RunFinished
)
