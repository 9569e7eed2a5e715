"""Deciding: each form of a question becomes a signal, signed by the person who sent it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple, get_args

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from artificer.builds.facts import PlanDecision
from artificer.builds.scheduler import failed_work, question_of, revision_fault
from artificer.builds.state import consents_of
from artificer.core.signals import AnswerCall, Consent, Decide, Resolve, Retry, Revise, Signal
from artificer.core.state import RunState
from artificer.errors import NotFoundError
from artificer.runs import Run
from artificer.studio.context import Form, actor_of, context_of, history_of, posted
from artificer.studio.decisions import answer_to
from artificer.studio.pages import page

MAX_TEXT = 16_000
"""Characters of a reason."""


class DecisionKind(NamedTuple):
    """A kind of decision: the form's words for it, whether it is open, and its signal."""

    words: tuple[str, ...]
    is_open: Callable[[Run, str], bool]
    signal: Callable[[str, str, str, str], Signal]


def _is_call(run: Run, subject: str) -> bool:
    return any(question.digest == subject for question in run.questions)


def _is_doubt(run: Run, subject: str) -> bool:
    return any(doubt.call_id == subject for doubt in run.doubts)


def _is_plan(run: Run, subject: str) -> bool:
    question = question_of(run.state.build) if run.state.build else None
    return question is not None and question.digest == subject


def _is_change(run: Run, subject: str) -> bool:
    build = run.state.build
    return build is not None and any(job.digest == subject for job in consents_of(build))


def _is_failed(run: Run, subject: str) -> bool:
    return run.state.build is not None and subject in failed_work(run.state.build)


def _is_under_way(run: Run, _: str) -> bool:
    return can_be_revised(run.state)


def can_be_revised(state: RunState) -> bool:
    """Whether another plan of a build can be requested."""
    build = state.build
    return build is not None and build.ended is None and not revision_fault(build)


KINDS: dict[str, DecisionKind] = {
    "answer": DecisionKind(
        ("approve", "deny"),
        _is_call,
        lambda by, call, word, text: AnswerCall(
            by=by, call=call, approved=word == "approve", reason=text
        ),
    ),
    "resolve": DecisionKind(
        ("happened", "absent"),
        _is_doubt,
        lambda by, call, word, text: Resolve(
            by=by, call_id=call, happened=word == "happened", reason=text
        ),
    ),
    "decide": DecisionKind(
        get_args(PlanDecision),
        _is_plan,
        lambda by, plan, word, text: Decide.from_json(
            {"type": "decide", "by": by, "plan": plan, "decision": word, "reason": text}
        ),
    ),
    "consent": DecisionKind(
        ("approve", "reject"),
        _is_change,
        lambda by, change, word, text: Consent(
            by=by, change=change, granted=word == "approve", reason=text
        ),
    ),
    "retry": DecisionKind(
        ("retry",), _is_failed, lambda by, spec, _, text: Retry(by=by, spec=spec, hint=text)
    ),
    "revise": DecisionKind(
        ("revise",), _is_under_way, lambda by, _, __, text: Revise(by=by, feedback=text)
    ),
}


async def decide(request: Request) -> Response:
    """Send a decision, and go back to where it was made."""
    context, form = context_of(request), await posted(request)
    history = await history_of(request)
    run, kind = history.run, KINDS.get(request.path_params["kind"])
    if kind is None:
        raise NotFoundError("There is no such decision.")
    subject, word, text = form.text("subject"), form.text("decision"), form.text("text")
    if problem := _problem(kind, word, text):
        return page(
            request, "undecided", {"run": run, "problem": problem, "by": ""}, HTTPStatus.BAD_REQUEST
        )
    if not kind.is_open(run, subject):
        by = answer_to(history.lines, subject)
        values = {"run": run, "problem": "This no longer waits for a decision.", "by": by}
        return page(request, "undecided", values, HTTPStatus.CONFLICT)
    signal = kind.signal(actor_of(request).name, subject, word, text)
    await context.world.send(run.id, signal)
    await context.executions.resume(run.id)
    return RedirectResponse(_back(form, run.id), HTTPStatus.SEE_OTHER)


def _problem(kind: DecisionKind, word: str, text: str) -> str:
    if word not in kind.words:
        return "Choose one of the answers."
    if len(text) > MAX_TEXT:
        return f"At most {MAX_TEXT:,} characters."
    if word in ("iterate", "revise") and not text:
        return "Say what the next plan should do differently."
    return ""


def _back(form: Form, run: str) -> str:
    return "/inbox" if form.text("from") == "inbox" else f"/runs/{run}"
