"""The state of a run: the result of reducing its events."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from artificer.artifacts.build_catalog import tool_of
from artificer.artifacts.handover import Handover
from artificer.artifacts.ref import ArtifactRef, DeliverableStatus, Finding
from artificer.artifacts.revision import Candidate
from artificer.artifacts.ticks import ItemTick
from artificer.artifacts.withdraw import Withdrawal
from artificer.builds.jobs import AskConsent, AskDecision
from artificer.builds.state import BuildState
from artificer.contracts.definition import ModelRequest
from artificer.contracts.model_settings import RequestSettings
from artificer.core.attachments import Attached
from artificer.core.call_ids import CallIds
from artificer.core.intents import FinishReason
from artificer.core.kinds import KINDS
from artificer.core.repeats import Repeats
from artificer.core.sources import CallSource
from artificer.core.spec import RunSpec
from artificer.core.taint import Taint
from artificer.core.verdict import Verdict
from artificer.core.waits import CallWait, standing_among
from artificer.core.window import Window
from artificer.errors import InvariantError
from artificer.values.base import Digest, Value, field
from artificer.values.blocks import AttachedBlock, CallStatus
from artificer.values.canon import canonical_typed, digest_of
from artificer.values.lean import LeanByClass
from artificer.values.message_history import MessageHistory
from artificer.values.model import FailureCode, StopReason, ToolChoice, Usage


class RunPhase(StrEnum):
    """Where a run stands. ``JUDGING`` and ``FINISHING`` last no longer than a commit.

    ``CHECKING`` lasts until the agent's own code has checked a reply; without such code, no longer.
    ``BUILDING`` serves the jobs of a build's scheduler. ``STALLED`` waits for an operator: the
    model could not be reached. ``PAUSED`` waits for a person. ``FINISHED`` lasts until
    someone has more to ask.
    """

    NEW = "new"
    GENERATING = "generating"
    BUILDING = "building"
    COMPACTING = "compacting"
    JUDGING = "judging"
    WORKING = "working"
    CHECKING = "checking"
    STALLED = "stalled"
    PAUSED = "paused"
    FINISHING = "finishing"
    FINISHED = "finished"


class Pending(Value):
    """An intent whose receipt has not come yet.

    ``call_id`` is that of a call or an approval, or the key of a job.
    """

    n: int
    type: Literal[
        "Generate",
        "Compact",
        "JudgeCalls",
        "AskApproval",
        "CallTool",
        "CheckReply",
        "AdvanceBuild",
        "Finish",
    ]
    call_id: str = ""


class CallState(Value):
    """One call of the turn in progress, and its answer once there is one.

    ``approved`` says that a person let it through, while it waits for its turn. ``label`` is its
    name as a source, and ``data`` the blob of its result's data (rules 3). ``handover`` is the
    answer of the agent that took the conversation over.
    """

    id: str
    verdict: Verdict | None = None
    status: CallStatus | None = None
    content: str = ""
    artifact: ArtifactRef | None = None
    approved: bool = False
    withdrawn: Withdrawal | None = None
    attachments: tuple[AttachedBlock, ...] = ()
    label: str = ""
    data: Digest | None = None
    handover: Handover | None = None


class Doubt(Value):
    """A call that may or may not have happened."""

    call_id: str
    tool: str
    arguments: str | None = None


class FailedModel(Value):
    """A model whose place another one took in a turn: ``provider/model``, and why."""

    model: str
    code: str
    turn: int


class RunState(Value):
    """Everything a run knows.

    ``history`` is the whole conversation and ``spec`` what was asked for; their digests stand for
    them in the state's own digest, so that it costs the same at turn 1,000 as at turn 10.
    ``stop`` is why the last reply ended; ``narrative_cut`` says that the kept one ended at its
    output limit. ``taint`` is the untrusted tool whose result ``history`` holds: whatever else
    begins from this conversation begins with it.

    ``letters`` counts the signals that were read. ``notes`` are messages for the model before
    its next reply, ``follow_ups`` are prompts for after this one is finished, and
    ``turns_before`` the turns that earlier prompts took. With ``hold`` nothing new begins;
    ``hold_note`` is what calls that never began are then answered with. ``doubts`` are the
    ambiguous calls that no person has resolved. ``window`` is the part of
    ``history`` that is sent. ``tool_ms`` and ``output_chars`` count what is limited, and only then.
    ``said`` is the number of the last message of a person (rules 2); ``steered``
    says that ``notes`` hold more of that. ``repeats`` is how far the last turns repeat each other,
    where the run limits that.

    ``candidates`` are texts since the narrative was kept that may be the report, ``withdrawn`` the
    artifacts that it need not cite. ``unfinished`` is the text so far of a reply that is being
    continued, for the ``continuations``-th time. ``message`` is a reply that is shown with the
    narrative; while ``mending``, replies answer our request for a repair, and are not.
    ``attached`` counts the attachments of ``history``; ``note_attachments`` are those of ``notes``,
    and ``follow_up_attachments`` those of each of the ``follow_ups``, empty if none has any.
    ``sources`` are the calls that artifacts may be bound to, in call order, and ``sources_digest``
    the digest of all of them (rules 3). ``failed_models`` are those that the model of ``spec`` has
    replaced, one after the other. ``ticks`` are what people have ticked off in checklists.
    ``waits`` are the pending calls whose runs are idle (rules 3).
    ``demands`` counts the turns whose demanded call was refused, and whose choice and settings the
    next turn had again (rules 4).
    """

    phase: RunPhase = RunPhase.NEW
    spec: RunSpec | None = None
    spec_digest: Digest | None = None
    running_since: int = 0
    now: int = 0
    turn: int = 0
    next_intent: int = 1
    pending: tuple[Pending, ...] = ()
    calls: tuple[CallState, ...] = ()
    call_ids: CallIds = ()
    history: MessageHistory = field(default_factory=MessageHistory)
    history_digest: Digest = digest_of(b"")
    last_text: str = ""
    narrative: str | None = None
    findings: tuple[Finding, ...] = ()
    artifacts: tuple[ArtifactRef, ...] = ()
    repairs: int = 0
    stop: StopReason | None = None
    narrative_cut: bool = False
    usage: Usage = Usage()
    cost_micros: int | None = None
    context_tokens: int = 0
    reply_tokens: int | None = None
    failure: FailureCode | None = None
    reason: FinishReason | None = None
    status: DeliverableStatus | None = None
    deliverable: Digest | None = None
    taint: Taint | None = None
    letters: int = 0
    notes: tuple[str, ...] = ()
    follow_ups: tuple[str, ...] = ()
    turns_before: int = 0
    hold: Literal["pause", "interrupt"] | None = None
    hold_note: str = ""
    doubts: tuple[Doubt, ...] = ()
    build: BuildState | None = None
    window: Window = Window()
    tool_ms: int = 0
    output_chars: int = 0
    said: int = 0
    steered: bool = False
    repeats: Repeats = Repeats()
    candidates: tuple[Candidate, ...] = ()
    withdrawn: tuple[Withdrawal, ...] = ()
    unfinished: str = ""
    continuations: int = 0
    message: str = ""
    mending: bool = False
    attached: Attached = Attached()
    note_attachments: tuple[AttachedBlock, ...] = ()
    follow_up_attachments: tuple[tuple[AttachedBlock, ...], ...] = ()
    sources: tuple[CallSource, ...] = ()
    sources_digest: str = ""
    failed_models: tuple[FailedModel, ...] = ()
    ticks: tuple[ItemTick, ...] = ()
    waits: tuple[CallWait, ...] = ()
    demands: int = 0

    @property
    def digest(self) -> str:
        """Digest of the state, at a cost that does not grow with the conversation."""
        return digest_of(canonical_typed(_DIGESTED[RunState](self)))

    @property
    def standing(self) -> str:
        """How the run stands, in one word: its deliverable's status, or what it waits for."""
        if self.status is not None:
            return self.status
        if self.phase in (RunPhase.STALLED, RunPhase.PAUSED):
            return self.phase.value
        if self.build is not None:
            return self._standing_of(self.build)
        if not self.only_waits:
            return "open"
        questions = any(pending.type == "AskApproval" for pending in self.pending)
        return standing_among(self.waits, questions=questions)

    @property
    def only_waits(self) -> bool:
        """Whether nothing is in progress except questions about calls, and calls of idle runs."""
        idle = [wait.intent for wait in self.waits]
        for pending in self.pending:
            if pending.type != "AskApproval" and pending.n not in idle:
                return False
        return bool(self.pending or idle)

    def _standing_of(self, build: BuildState) -> str:
        questions = [job for job in build.open if isinstance(job, (AskDecision, AskConsent))]
        if questions and len(questions) == len(build.open):
            return "waiting"
        if self.hold is not None:
            return "paused"
        return build.standing or ("stalled" if build.stalled else "open")

    @property
    def time_left(self) -> int:
        """The milliseconds that are left of the run's time."""
        return self.run_spec.limits.wall_ms - (self.now - self.running_since)

    @property
    def run_spec(self) -> RunSpec:
        """Return the run's spec. Raises InvariantError before it began."""
        if self.spec is None:
            raise InvariantError("A run that has not begun has no spec.")
        return self.spec

    def choice(self, turn: int) -> ToolChoice:
        """The tool choice of a turn: the requested one, or the tool of a missing artifact.

        After an answer without the artifact, only that call is requested. Code is not: what is
        missing may be the work. A reply that is being continued is text.
        """
        if self.unfinished:
            return ToolChoice(mode="none")
        spec = self.run_spec
        planned = spec.choice(turn - self.demands)
        if not self.repairs:
            return planned
        required = KINDS[spec.kind].delivers
        if required is None or required == "completion":
            return planned
        if any(ref.kind == required for ref in self.artifacts):
            return planned
        return ToolChoice(mode="tool", name=tool_of(required))

    @property
    def settings(self) -> RequestSettings:
        """The settings of the turn's request."""
        return self.run_spec.settings_of(self.turn - self.demands)

    @property
    def longest_reply(self) -> int:
        """The most tokens that the next reply may have."""
        longest = self.reply_tokens or self.run_spec.limits.max_tokens
        return min(longest, self.settings.max_tokens or longest)

    def request(self) -> ModelRequest:
        """Return the request of the pending Generate, without the conversation."""
        spec = self.run_spec
        settings = own = self.settings
        if own.temperature is not None or own.max_tokens is not None:  # they have their own members
            own = own.replace(temperature=None, max_tokens=None)
        return ModelRequest(
            model=spec.model,
            system=spec.system,
            tools=spec.tools().tools,
            tool_choice=self.choice(self.turn),
            max_tokens=self.longest_reply,
            temperature=None if settings.temperature is None else float(settings.temperature),
            cache_key=spec.cache_key,
            response_format=spec.response_format,
            settings=own,
        )


_DIGESTED = LeanByClass(
    without=frozenset({"history", "spec", "call_ids", "context_tokens", "doubts", "sources"})
)
"""The state as its digest is made: without fields that follow from others, which stand for them."""
