"""Delivering a build's outcome, or the decision that it waits for."""

from __future__ import annotations

from artificer.builds.jobs import AskConsent, AskDecision
from artificer.builds.scheduler import failed_specs, open_questions, question_of
from artificer.builds.state import BuildState, consents_of
from artificer.cli.execution.build_progress import summary_of
from artificer.cli.execution.outcome_json import Failed, outcome_json
from artificer.cli.terminal.console import complain, note, one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import cost, joined, tokens
from artificer.runs import Run
from artificer.runtime.builds.tree import BuildNode
from artificer.runtime.explaining.build import option_for


def deliver_build(
    run: Run, nodes: list[BuildNode], failure: Failed | None, *, as_json: bool
) -> Exit:
    """Print the outcome of a build and the next step; return the exit code."""
    state = run.state
    if as_json:
        outcome = outcome_json(run, run.deliverable, None, failure)
        out_json({**outcome, **_build_json(run, nodes)})
        return exit_of_build(run, nodes)
    out(run.text.rstrip())
    facts = joined(summary_of(state), tokens(state.usage), cost(state.cost_micros))
    note(joined(run.status, facts), "good" if run.status == "completed" else None)
    if run.status == "completed":
        note(f"bring it into your branch with: artificer build promote {run.id}")
        return Exit.OK
    if state.status is not None:
        return Exit.INCOMPLETE
    return _waiting(run, nodes)


def _build_json(run: Run, nodes: list[BuildNode]) -> dict[str, object]:
    """The members that a build adds to the outcome of a run."""
    build = run.state.build
    if build is None:
        return {}
    question = question_of(build)
    return {
        "specs": {spec.name: spec.status for spec in build.specs},
        "integration": build.integration,
        "plan": question.digest if question else None,
        "changes": [job.digest for job in consents_of(build)],
        "stalled": build.stalled,
        "runs": len(nodes),
    }


def exit_of_build(run: Run, nodes: list[BuildNode]) -> Exit:
    """Return the exit code of a build in its present state."""
    if run.state.status is not None:
        return Exit.OK if run.status == "completed" else Exit.INCOMPLETE
    waits = any(node.status in ("waiting", "paused") for node in nodes)
    if run.status in ("waiting", "paused") or waits:
        return Exit.WAITING
    return Exit.STALLED


def _failed(build: BuildState) -> str:
    """The first spec that failed, as an argument; nothing if it is the plan."""
    names = failed_specs(build)
    return f" {names[0]}" if names else ""


def _waiting(run: Run, nodes: list[BuildNode]) -> Exit:
    build = run.state.build
    questions = open_questions(build) if build else []
    for question in questions:
        _show_question(run.id, question, option_for(question, questions))
    for node in nodes:
        if node.status == "waiting":
            note(f"{node.step} waits for your answer: artificer approve {node.run}")
        elif node.status == "stalled":
            note(f"{node.step} is stalled: artificer explain {node.run}")
    if build is not None and build.stalled:
        complain(
            f"The build is stalled: {one_line(build.stalled, 400)}.",
            f"artificer build retry {run.id}{_failed(build)} --hint '…',"
            f" then artificer resume {run.id}",
        )
    elif not questions:
        note(f"continue with: artificer resume {run.id}")
    return exit_of_build(run, nodes)


def _show_question(run: str, question: AskDecision | AskConsent, option: str) -> None:
    """Say what waits for a decision, and which commands show it and decide about it."""
    then = f"  then         artificer build approve {run}{option} && artificer resume {run}"
    if isinstance(question, AskDecision):
        note(f"the plan waits for your decision: {question.digest}")
        note(f"  read it      artificer build plan {run}")
        note(then)
        note(f"  or           artificer build iterate {run} 'what to change'")
        return
    complain(f"{question.step.path} needs your consent.")
    for concern in question.checked.concerns:
        note(f"  - {concern.text}")
    note(f"  read it      artificer build review {run}")
    note(then)
    note(f"  or           artificer build reject {run}{option} --reason 'why'")
