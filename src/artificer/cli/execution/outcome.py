"""Delivering a run's outcome: data on stdout, a summary on stderr, an exit code."""

from __future__ import annotations

from pathlib import Path

from artificer.artifacts.deliverable import Deliverable
from artificer.cli.commands.shared import OutcomeOptions
from artificer.cli.execution.build_outcome import deliver_build
from artificer.cli.execution.outcome_json import Failed, outcome_json
from artificer.cli.execution.progress import Progress
from artificer.cli.execution.views import views_folder
from artificer.cli.terminal.console import complain, note, one_line, out, out_json, out_json_text
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import cost, count, joined, tokens
from artificer.config import Config
from artificer.errors import OperatorError
from artificer.report import Views
from artificer.runs import Run
from artificer.runtime.explaining.resuming import resume_command
from artificer.values.failure_words import FAILURES
from artificer.wiring.known_providers import key_variable
from artificer.world import World


async def deliver(world: World, run: Run, progress: Progress, options: OutcomeOptions) -> Exit:
    """Write the views of a run that ended or stopped, print its outcome, return the exit code."""
    progress.screen.close()
    if run.state.build is not None:
        nodes = await world.archive.tree(run.id)
        return deliver_build(run, nodes, progress.failure, as_json=options.as_json)
    delivered = run.deliverable
    views, unsaved = _save(world, run, options.out) if delivered else (None, None)
    if options.as_json:
        out_json(outcome_json(run, delivered, views, progress.failure))
    else:
        _print(run, views)
    if delivered is None:
        stopped = run.status in ("waiting", "paused")
        return _waiting(run) if stopped else _stalled(world.config, run, progress.failure)
    if delivered.message and not options.as_json:
        note(delivered.message)
    _summarise(run, delivered)
    if unsaved:
        raise unsaved
    return Exit.OK if run.status == "completed" else Exit.INCOMPLETE


def _print(run: Run, views: Views | None) -> None:
    """Write paths for a report, JSON for a run with a schema, else the text."""
    if views and run.state.run_spec.kind == "deliver":
        out(str(views.html))
        out(str(views.markdown))
    elif run.state.run_spec.response_format is not None:
        if run.status == "completed":  # for a program: JSON that fits, or nothing
            out_json_text(run.text)
    elif run.text:
        out(run.text)


def _save(world: World, run: Run, folder: Path | None) -> tuple[Views | None, OperatorError | None]:
    """Write the views, and return what is wrong with a folder: the outcome is printed.

    A report always has its views in the project; the user's own folder is an extra copy.
    """
    is_report = run.state.run_spec.kind == "deliver"
    views, unsaved = None, None
    for place in (views_folder(world.config, run.id) if is_report else None, folder):
        try:
            views = views if place is None else run.save(place.absolute())
        except OSError as error:
            unsaved = OperatorError(
                f"The run cannot be written to {place}: {error.strerror or error}.",
                hint=f"artificer resume {run.id} --out DIRECTORY writes it elsewhere.",
            )
    return views, unsaved


def _summarise(run: Run, delivered: Deliverable) -> None:
    state = run.state
    facts = joined(count(state.turn, "turn"), tokens(state.usage), cost(state.cost_micros))
    note(f"{run.status} · {facts}", "good" if run.status == "completed" else "bad")
    if delivered.note:
        note(f"  {delivered.note}")
    for finding in delivered.findings:
        note(f"  {finding.code.replace('_', ' ')}: {finding.subject}: {finding.message}")


def _waiting(run: Run) -> Exit:
    if run.status == "paused" and not run.questions:
        note(f"paused; continue with: {resume_command(run.id, run.state.run_spec)}")
        return Exit.WAITING
    for question in run.questions:
        note(f"waits for your answer: {question.tool} {one_line(question.arguments, 200)}")
        note(f"  {question.digest}  {question.reason}".rstrip())
        if question.run != run.id:
            note(f"  asked by {question.run}")
    note(f"answer with: artificer approve {run.id}, or artificer approve --deny {run.id}")
    return Exit.WAITING


def _stalled(config: Config, run: Run, failure: Failed | None) -> Exit:
    code = run.state.failure
    why = FAILURES[code] if code else "the run has not ended"
    detail = f" ({failure.message.rstrip('.')})" if failure and failure.message else ""
    hint = resume_command(run.id, run.state.run_spec)
    if code == "budget":
        hint += ", tomorrow (UTC) or when [budget] allows more (artificer budget)"
    if code == "auth" and (variable := key_variable(config, run.state.run_spec.provider)):
        hint = f"export {variable}=… and then: {hint}"
    complain(f"The run is {run.status}: {why}{detail}.", hint)
    return Exit.STALLED
