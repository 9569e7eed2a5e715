"""Reports since rules 2: messages after a report do not destroy it (invariant 8).

A reply is weighed against the report that is kept and against the texts next to earlier calls. The
result is a fact, computed here and recorded as ReplyChecked; the other functions are the
reducer's, which takes it as it was recorded.
"""

from __future__ import annotations

from msgspec import structs

from artificer.artifacts.deliverable import (
    MAX_NARRATIVE,
    Deliverable,
    Examined,
    blocking,
    dangling,
    examine,
)
from artificer.artifacts.ref import ArtifactRef
from artificer.artifacts.repair import repairs_request, uncited_request
from artificer.artifacts.revision import Candidate, Choice, choose, why_rejected
from artificer.artifacts.seam import continuation_request, joined
from artificer.artifacts.withdraw import NAME as WITHDRAW
from artificer.artifacts.withdraw import Withdrawal, without
from artificer.core import events as ev
from artificer.core.conversation import with_message
from artificer.core.intents import CheckReply, FinishReason
from artificer.core.state import RunState
from artificer.core.steps import Step, settle
from artificer.core.turns import finish, next_turn
from artificer.values.blocks import Message, user

EMPTY = (
    "Your reply held neither text nor a tool call. Answer the request, or call one of the tools."
)

_CHECKED: frozenset[FinishReason | None] = frozenset(
    {"done", "empty_reply", "output_limit", "repair_limit"}
)
"""Ends after which every text has been weighed."""


# --- facts ------------------------------------------------------------------------------------


def check_report(state: RunState, intent: CheckReply, at: int) -> ev.ReplyChecked:
    """Decide which text is the report, and what to ask for when it cannot be delivered yet."""
    reply = _reply(state)
    if _may_continue(state, reply):
        return ev.ReplyChecked(
            at=at,
            intent=intent.n,
            narrative=state.narrative or "",
            cut=state.narrative_cut,
            request=continuation_request(reply),
            message=state.message,
            unfinished=reply,
        )
    choice = _choose(state, reply)
    if _insists(state, choice):
        choice = structs.replace(choice, asks=False)
    examined = examine(choice.narrative, state.artifacts)
    cut = state.stop == "max_tokens" if choice.last else not choice.revised and state.narrative_cut
    return ev.ReplyChecked(
        at=at,
        intent=intent.n,
        narrative=examined.narrative,
        findings=examined.findings,
        request=_request(state, choice, examined),
        rejected=choice.rejected,
        revised=choice.revised,
        cut=cut,
        unwrapped=choice.unwrapped,
        message=_message(state, choice),
    )


def conclude_report(state: RunState, reason: FinishReason, note: str) -> tuple[Deliverable, bool]:
    """Return the deliverable, its status apart, and whether it is incomplete."""
    choice = _choose(state, state.unfinished)
    kept = choice.narrative.strip()
    examined = examine(choice.narrative if kept else state.last_text, state.artifacts)
    message = state.message
    if reason == "refused" and kept and choice.narrative != state.last_text:
        message = state.last_text
    delivered = Deliverable(
        status="partial",
        narrative=examined.narrative,
        artifacts=state.artifacts,
        findings=examined.findings,
        note=note,
        message=message,
    )
    return delivered, dangling(examined.findings) or _uncited(state, examined)


def _choose(state: RunState, reply: str) -> Choice:
    kept = state.narrative or ""
    return choose(kept, state.candidates, reply, state.artifacts, state.withdrawn)


def _reply(state: RunState) -> str:
    """The last reply; one that continues another is joined with it."""
    last = state.history[-1]
    text = last.text if last.role == "assistant" else ""
    return joined(state.unfinished, text) if state.unfinished else text


def _may_continue(state: RunState, reply: str) -> bool:
    """Whether to request the continuation of a truncated reply: not if it no longer grows."""
    grown = len(reply.rstrip()) > len(state.unfinished.rstrip())
    left = state.continuations < state.run_spec.limits.continuations
    return state.stop == "max_tokens" and grown and left and len(reply) <= MAX_NARRATIVE


def _insists(state: RunState, choice: Choice) -> bool:
    """Whether a text that cites nothing and has no title, once asked about, comes again as it was.

    It answers a person's message, then: asking again would get the same.
    """
    again = state.mending and choice.message == state.message
    return again and "{{" not in choice.message and not choice.message.lstrip().startswith("#")


def _request(state: RunState, choice: Choice, examined: Examined) -> str | None:
    """Return a request to the model, if any: no two requests for one prompt are the same."""
    limits, parts = state.run_spec.limits, []
    may_withdraw = state.run_spec.tool(WITHDRAW) is not None
    faults = blocking(examined.findings)
    if not choice.narrative.strip() and not state.artifacts:
        parts.append(_cut_to_nothing(limits.max_tokens) if state.stop == "max_tokens" else EMPTY)
    elif choice.asks:
        parts.append(why_rejected(choice, may_withdraw=may_withdraw))
    elif state.mending and choice.rejected and any(fault.code != "missing" for fault in faults):
        parts.append(f"Your last reply has not corrected the answer: {choice.rejected}.")
    if faults:
        gone = frozenset(item.subject for item in state.withdrawn)
        parts.append(repairs_request(faults, gone, may_withdraw=may_withdraw))
    elif _uncited(state, examined):
        parts.append(uncited_request(state.artifacts, may_withdraw=may_withdraw))
    if parts and 0 < state.repairs < limits.repairs:
        parts.append(f"(This is round {state.repairs + 1} of {limits.repairs}.)")
    return "\n\n".join(parts) or None


def _cut_to_nothing(limit: int) -> str:
    return (
        f"Your reply was cut off at its output limit of {limit} tokens before it held any text."
        " Think less, and answer right away."
    )


def _uncited(state: RunState, examined: Examined) -> bool:
    return bool(state.artifacts) and not examined.citations


def _message(state: RunState, choice: Choice) -> str:
    """Return the message to show with the report: the last answer to a person's message.

    A reply to our own request for a repair is not one, unless it looks like the report they wanted.
    """
    if choice.last or not choice.message.strip():
        return "" if choice.revised else state.message
    if state.mending and not choice.asks:
        return "" if choice.revised else state.message
    return choice.message


# --- the reducer ------------------------------------------------------------------------------


def called(state: RunState, message: Message) -> RunState:
    """Keep the text next to calls where it may be the report."""
    text = joined(state.unfinished, message.text) if state.unfinished else message.text
    state = state.replace(unfinished="")
    return _with_candidate(state, Candidate(text=text))


def report_checked(state: RunState, event: ev.ReplyChecked) -> Step:
    """Keep the report, ask for the rest of a text, or send it back while there are rounds left."""
    reply = _reply(state)
    state = settle(state, event.intent).replace(
        narrative=event.narrative,
        narrative_cut=event.cut,
        findings=event.findings,
        message=event.message,
        unfinished=event.unfinished,
        candidates=() if event.revised or event.request is None else state.candidates,
    )
    if event.request is None and state.notes and state.hold is None:
        return next_turn(state)
    if event.request is None:
        return finish(state, "output_limit" if event.cut else "done")
    if event.unfinished and state.notes:  # what a person says meanwhile is not about the rest
        return next_turn(reopened(state))
    if event.unfinished:
        state = state.replace(continuations=state.continuations + 1)
        return next_turn(with_message(state, user(event.request)))
    if event.rejected is not None:
        state = _with_candidate(state, Candidate(text=reply, final=True))
    if state.repairs >= state.run_spec.limits.repairs:
        return finish(state, "repair_limit" if state.last_text else "empty_reply")
    state = state.replace(repairs=state.repairs + 1, mending=True)
    return next_turn(with_message(state, user(event.request)))


def reopened(state: RunState) -> RunState:
    """A person asks for more: the report stays. What an early end left unchecked may be it."""
    if state.reason in _CHECKED:
        state = state.replace(candidates=())
    elif state.unfinished:
        state = _with_candidate(state, Candidate(text=state.unfinished))
    return state.replace(unfinished="", continuations=0, message="", mending=False)


def made_or_withdrawn(
    state: RunState, artifact: ArtifactRef | None, gone: Withdrawal | None
) -> RunState:
    """Note what the report need not cite any more; what is made again is to be cited again."""
    if gone is None and (artifact is None or not state.withdrawn):
        return state
    key = (gone.kind, gone.id) if gone else (artifact.kind, artifact.id) if artifact else None
    rest = tuple(item for item in state.withdrawn if (item.kind, item.id) != key)
    if gone is None:
        return state.replace(withdrawn=rest)
    artifacts = without(state.artifacts, gone)
    return state.replace(withdrawn=(*rest, gone), artifacts=artifacts)


def _with_candidate(state: RunState, candidate: Candidate) -> RunState:
    """Keep a text that cites something: without a brace it cannot be the report."""
    if "{{" not in candidate.text:
        return state
    return state.replace(candidates=(*state.candidates, candidate))
