"""``artificer build approve``, ``reject`` and ``iterate``: decide about a plan or a change."""

from __future__ import annotations

from artificer.builds.facts import PlanDecision
from artificer.builds.jobs import AskConsent, AskDecision
from artificer.builds.scheduler import open_questions
from artificer.cli.build.state import build_state, require_text
from artificer.cli.commands.build import (
    ApprovePlanOptions,
    DecisionOptions,
    IterateOptions,
    RejectPlanOptions,
)
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.signals.send import send_signal
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.console import note
from artificer.cli.terminal.exits import Exit
from artificer.core.signals import Consent, Decide
from artificer.errors import NotFoundError, OperatorError
from artificer.runs import Run


async def approve(settings: Settings, options: ApprovePlanOptions) -> Exit:
    """Approve the plan or the change that a build waits for."""
    return await _decide(settings, options, "approve")


async def reject(settings: Settings, options: RejectPlanOptions) -> Exit:
    """Reject the plan or the change that a build waits for."""
    return await _decide(settings, options, "reject", options.reason)


async def iterate(settings: Settings, options: IterateOptions) -> Exit:
    """Ask for another plan."""
    require_text(options.feedback)
    return await _decide(settings, options, "iterate", options.feedback)


async def _decide(
    settings: Settings, options: DecisionOptions, decision: PlanDecision, reason: str = ""
) -> Exit:
    async with opened_run(settings, options.run) as (world, run_id):
        question = _choose((await world.get(run_id)), options.digest, decision)
        by = user_name()
        if isinstance(question, AskDecision):
            note(f"{decision} plan {question.digest}")
            plan = Decide(by=by, plan=question.digest, decision=decision, reason=reason)
            return await send_signal(world, run_id, plan)
        note(f"{decision} change {question.digest} of {question.step.path}")
        granted = decision == "approve"
        change = Consent(by=by, change=question.digest, granted=granted, reason=reason)
        return await send_signal(world, run_id, change)


def _choose(run: Run, digest: str, decision: PlanDecision) -> AskDecision | AskConsent:
    """The open question with this digest. Raises NotFoundError, OperatorError."""
    build = build_state(run)
    questions = open_questions(build)
    if decision == "iterate":
        questions = [question for question in questions if isinstance(question, AskDecision)]
    if not questions:
        raise NotFoundError(
            "No plan and no change waits for a decision.", hint=f"artificer explain {run.id}"
        )
    starts = (digest, f"sha256:{digest}")
    found = [question for question in questions if question.digest.startswith(starts)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{question.digest} ({_subject(question)})" for question in questions)
    if found:
        raise OperatorError(
            f"{len(found)} questions wait for a decision: {known}.",
            hint="Choose one with --change DIGEST.",
        )
    raise OperatorError(
        f"Another plan or change waits for a decision: {known}.",
        hint=f"Read it first: artificer build plan {run.id}, artificer build review {run.id}",
    )


def _subject(question: AskDecision | AskConsent) -> str:
    return "the plan" if isinstance(question, AskDecision) else question.step.path
