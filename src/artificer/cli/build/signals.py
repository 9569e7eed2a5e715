"""What people say to a build: yes or no to its plan, another plan, another try."""

from __future__ import annotations

import click

from artificer.builds.jobs import AskConsent, AskDecision
from artificer.builds.scheduler import question_of
from artificer.builds.state import BuildState, consents_of
from artificer.cli.common.ask_here import who
from artificer.cli.common.drive import in_world
from artificer.cli.common.post import leave
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note
from artificer.cli.terminal.exits import Exit
from artificer.core.letters import Consent, Decide, Letter, Retry, Revise
from artificer.errors import NotFoundError, OperatorError
from artificer.runs import Run
from artificer.world import World

PLAN = click.option(
    "--plan",
    "--change",
    "digest",
    metavar="DIGEST",
    default="",
    help="The plan, or the change, that is meant, or its start.",
)


@click.command(name="approve", short_help="Approve a plan, or a change.")
@click.argument("run")
@PLAN
@pass_settings
def approve(settings: Settings, run: str, digest: str) -> int:
    """Approve the plan, or the change, that RUN asks about; then resume the build.

    The approval is for exactly this plan, which `artificer build plan RUN` shows with its digest,
    or this change, which `artificer build review RUN` shows.

    \b
    Example:
      artificer build approve last --plan sha256:3f2a && artificer resume last
    """
    return _decide(settings, run, digest, Decide(by=who(), plan=_UNKNOWN, decision="approve"))


@click.command(name="reject", short_help="Reject a plan, or a change.")
@click.argument("run")
@click.option("--reason", default="", help="Why; it is recorded.")
@PLAN
@pass_settings
def reject(settings: Settings, run: str, reason: str, digest: str) -> int:
    """Reject the plan that RUN asks about: the build ends, but for a revision, which is dropped.

    A change that is rejected is a failed attempt; the next one is told the reason.

    \b
    Example:
      artificer build reject last --reason "We buy it instead."
    """
    said = Decide(by=who(), plan=_UNKNOWN, decision="reject", reason=reason)
    return _decide(settings, run, digest, said)


@click.command(name="iterate", short_help="Ask for another plan before work begins.")
@click.argument("run")
@click.argument("feedback")
@PLAN
@pass_settings
def iterate(settings: Settings, run: str, feedback: str, digest: str) -> int:
    """Ask for another plan, made from the one that RUN asks about and FEEDBACK.

    \b
    Example:
      artificer build iterate last "Keep the list in SQLite." && artificer resume last
    """
    said = Decide(by=who(), plan=_UNKNOWN, decision="iterate", reason=feedback)
    return _decide(settings, run, digest, said)


@click.command(name="revise", short_help="Ask for another plan after it began.")
@click.argument("run")
@click.argument("feedback")
@pass_settings
def revise(settings: Settings, run: str, feedback: str) -> int:
    """Ask for another plan after work on RUN began.

    Work goes on until the new plan is approved. Then exactly what depended on what it changes is
    archived and begun anew; the rest is kept.

    \b
    Example:
      artificer build revise last "The list needs due dates."
    """
    return _post(settings, run, Revise(by=who(), feedback=feedback))


@click.command(name="retry", short_help="Try a failed spec again.")
@click.argument("run")
@click.argument("spec", default="")
@click.option("--hint", default="", help="What the next attempt is told.")
@pass_settings
def retry(settings: Settings, run: str, spec: str, hint: str) -> int:
    """Try a failed SPEC of RUN again, with a fresh budget of attempts; without SPEC, the plan.

    \b
    Example:
      artificer build retry last store --hint "Python is 3.11." && artificer resume last
    """
    return _post(settings, run, Retry(by=who(), spec=spec, hint=hint))


_UNKNOWN = "sha256:" + "0" * 64


def _decide(settings: Settings, run: str, digest: str, letter: Decide) -> Exit:
    async def work(world: World) -> Exit:
        run_id = await world.find(run)
        asked = _meant((await world.get(run_id)).run, digest, letter)
        if isinstance(asked, AskDecision):
            note(f"{letter.decision} plan {asked.digest}")
            return await leave(world, run_id, letter.model_copy(update={"plan": asked.digest}))
        note(f"{letter.decision} change {asked.digest} of {asked.step.path}")
        granted = letter.decision == "approve"
        said = Consent(by=letter.by, change=asked.digest, granted=granted, reason=letter.reason)
        return await leave(world, run_id, said)

    return in_world(settings, work)


def _build(run: Run) -> BuildState:
    if run.state.build is None:
        raise OperatorError(f"Run {run.id} is no build.", hint="`artificer runs` lists them.")
    return run.state.build


def _meant(run: Run, digest: str, letter: Decide) -> AskDecision | AskConsent:
    """The question that is open, if it is the one that is meant."""
    build = _build(run)
    plan = question_of(build)
    asked: list[AskDecision | AskConsent] = [plan] if plan is not None else []
    if letter.decision != "iterate":
        asked += consents_of(build)
    if not asked:
        raise NotFoundError(
            "No plan and no change waits for a decision.", hint=f"artificer explain {run.id}"
        )
    starts = (digest, f"sha256:{digest}")
    found = [question for question in asked if question.digest.startswith(starts)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{question.digest} ({_what(question)})" for question in asked)
    if found:
        raise OperatorError(
            f"{len(found)} decisions are asked for: {known}.", hint="Say which: --change DIGEST."
        )
    raise OperatorError(
        f"Another plan or change waits for a decision: {known}.",
        hint=f"Read it first: artificer build plan {run.id}, artificer build review {run.id}",
    )


def _what(question: AskDecision | AskConsent) -> str:
    return "the plan" if isinstance(question, AskDecision) else question.step.path


def _post(settings: Settings, run: str, letter: Letter) -> Exit:
    async def work(world: World) -> Exit:
        run_id = await world.find(run)
        build = _build((await world.get(run_id)).run)
        if build.ended is not None:
            raise OperatorError(
                f"The build is over: {build.ended}.", hint="Begin another one: artificer build."
            )
        if isinstance(letter, Retry):
            _can_be_tried(run_id, build, letter.spec)
        return await leave(world, run_id, letter)

    return in_world(settings, work)


def _can_be_tried(run: str, build: BuildState, name: str) -> None:
    """Nobody waits in vain for what is not there, or has not failed."""
    failed = [spec.name for spec in build.specs if spec.status == "failed"]
    if name and name not in failed:
        raise NotFoundError(
            f"No spec {name!r} has failed; failed: {', '.join(failed) or 'none'}.",
            hint=f"artificer explain {run}",
        )
