"""Decisions of people: calls, doubts, plans and changes. Who decided is recorded.

What nothing waits for is refused at once. Someone else may decide at the same time: then the run
records the later decision as one that came too late.
"""

from __future__ import annotations

from msgspec import Struct

from artificer.builds.facts import PlanDecision
from artificer.builds.scheduler import decision_on
from artificer.builds.state import consents_of
from artificer.core.signals import AnswerCall, Consent, Decide, Resolve, Retry, Revise
from artificer.errors import NotFoundError, OperatorError
from artificer.studio.api.acting import send
from artificer.studio.api.answers import Sent
from artificer.studio.api.declared import ApiRequest, DigestText, ShortName, ShortText
from artificer.studio.api.reading import run_of


class CallAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the call of this digest may run, and why."""

    call: DigestText
    approved: bool
    reason: ShortText = ""


class Resolution(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether an ambiguous call happened, and how that is known."""

    call_id: ShortText
    happened: bool
    reason: ShortText = ""


class PlanAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """A decision about the plan of this digest; for ``iterate``, with what to change as reason."""

    plan: DigestText
    decision: PlanDecision
    reason: ShortText = ""


class ConsentAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the change of this digest is accepted, and why."""

    change: DigestText
    granted: bool
    reason: ShortText = ""


class RevisionBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a build needs another plan."""

    feedback: ShortText


class RetryBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The failed spec to try again, or the plan; and a hint."""

    spec: ShortName = ""
    hint: ShortText = ""


async def answer_call(request: ApiRequest) -> Sent:
    """Approve or deny a call that waits for approval."""
    body: CallAnswer = request.body
    run = await run_of(request)
    if all(question.digest != body.call for question in run.questions):
        raise NotFoundError(f"No call {body.call} waits for approval.")
    by = request.actor.name
    signal = AnswerCall(by=by, call=body.call, approved=body.approved, reason=body.reason)
    return await send(request, signal)


async def resolve_call(request: ApiRequest) -> Sent:
    """Record whether an ambiguous call happened."""
    body: Resolution = request.body
    run = await run_of(request)
    if all(doubt.call_id != body.call_id for doubt in run.doubts):
        raise NotFoundError("No such call is in doubt.")
    by, happened = request.actor.name, body.happened
    signal = Resolve(by=by, call_id=body.call_id, happened=happened, reason=body.reason)
    return await send(request, signal)


async def decide_plan(request: ApiRequest) -> Sent:
    """Approve a build's plan, reject it, or request another one."""
    body: PlanAnswer = request.body
    build = (await run_of(request)).state.build
    question = "No plan waits for a decision." if build is None else decision_on(build, body.plan)
    if isinstance(question, str):
        raise NotFoundError(question)
    by, decision = request.actor.name, body.decision
    signal = Decide(by=by, plan=body.plan, decision=decision, reason=body.reason)
    return await send(request, signal)


async def consent_to_change(request: ApiRequest) -> Sent:
    """Accept or reject a change that needs consent."""
    body: ConsentAnswer = request.body
    build = (await run_of(request)).state.build
    if build is None or not consents_of(build, body.change):
        raise NotFoundError("That change does not wait for consent.")
    by, granted = request.actor.name, body.granted
    signal = Consent(by=by, change=body.change, granted=granted, reason=body.reason)
    return await send(request, signal)


async def revise_build(request: ApiRequest) -> Sent:
    """Request another plan after work on a build started."""
    await _check_build(request)
    return await send(request, Revise(by=request.actor.name, feedback=request.body.feedback))


async def retry_build(request: ApiRequest) -> Sent:
    """Retry a build's failed work."""
    await _check_build(request)
    body: RetryBody = request.body
    return await send(request, Retry(by=request.actor.name, spec=body.spec, hint=body.hint))


async def _check_build(request: ApiRequest) -> None:
    run = await run_of(request)
    if run.state.build is None:
        raise OperatorError(f"Run {run.id} is not a build.")
