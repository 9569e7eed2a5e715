"""Intents: effects to perform, journaled before they start.

Every intent has a number, unique in its run, by which its receipt names it. ``JudgeCalls``,
``CheckReply`` and ``Finish`` need nothing from the world: what they establish is recorded in the
same commit that records them.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from artificer.builds.jobs import Job
from artificer.contracts.definition import EffectClass
from artificer.values.base import Digest, Value
from artificer.values.canon import digest_of
from artificer.values.model import ToolChoice

FinishReason = Literal[
    "done",
    "cancelled",
    "context_limit",
    "cost_limit",
    "empty_reply",
    "interrupted",
    "model_failed",
    "output_limit",
    "refused",
    "rejected",
    "repair_limit",
    "stuck",
    "token_limit",
    "tool_output_limit",
    "tool_time_limit",
    "turn_limit",
    "wall_limit",
]
"""Why a run stops. Readers of the deliverable see every reason except ``done``."""


class _Intent(Value, tag_field="type"):
    n: int

    @property
    def call_id(self) -> str:
        """The id of the call that it is about, if it is about one."""
        return ""

    @property
    def digest(self) -> str:
        """Digest of the kind of intent and of what it says."""
        return digest_of(type(self).__name__.encode() + self.identity())


class Generate(_Intent):
    """Ask the model for the reply of this turn.

    ``history`` is the digest of the conversation so far, of ``messages`` messages. Those before
    ``since`` are not sent: something shorter stands for them.
    """

    type: ClassVar[Literal["Generate"]] = "Generate"
    turn: int
    tool_choice: ToolChoice
    history: Digest
    messages: int
    since: int = 0


class Compact(_Intent):
    """Make the conversation shorter: from message ``upto`` on it is sent, from ``told`` to there
    it is summarised.

    ``room`` is how many tokens the request may take, by our estimate, and ``max_tokens`` how long
    the summary may be; with 0 none is asked for. ``history`` is the digest of the conversation.
    """

    type: ClassVar[Literal["Compact"]] = "Compact"
    turn: int
    why: Literal["limit", "overflow"]
    history: Digest
    told: int
    upto: int
    room: int
    max_tokens: int


class JudgeCalls(_Intent):
    """Put the calls of this turn through the gate."""

    type: ClassVar[Literal["JudgeCalls"]] = "JudgeCalls"
    turn: int


class AskApproval(_Intent):
    """Ask a person whether a call may run. ``call`` is the digest of this exact call."""

    type: ClassVar[Literal["AskApproval"]] = "AskApproval"
    call_id: str
    tool: str
    arguments: str
    call: Digest
    reason: str


class CallTool(_Intent):
    """Perform a call that the gate let through. ``arguments`` is canonical JSON text.

    ``within_ms`` is what the run's limit leaves for it, where it has one.
    """

    type: ClassVar[Literal["CallTool"]] = "CallTool"
    call_id: str
    tool: str
    arguments: str
    effect: EffectClass
    within_ms: int | None = None


class CheckReply(_Intent):
    """Look at a reply without calls: is it an answer that can be delivered?"""

    type: ClassVar[Literal["CheckReply"]] = "CheckReply"
    turn: int


class AdvanceBuild(_Intent):
    """Perform a job of a build's scheduler: start a run, validate, merge, ask about a plan."""

    type: ClassVar[Literal["AdvanceBuild"]] = "AdvanceBuild"
    wish: Job

    @property
    def call_id(self) -> str:
        """The key under which the job is performed once."""
        return self.wish.key


class Finish(_Intent):
    """End the run, and deliver what there is."""

    type: ClassVar[Literal["Finish"]] = "Finish"
    reason: FinishReason


INLINE = frozenset({JudgeCalls, CheckReply, Finish})
"""The intents whose facts need nothing from outside: they are answered in the same commit."""


Intent = (
    Generate | Compact | JudgeCalls | AskApproval | CallTool | CheckReply | AdvanceBuild | Finish
)
