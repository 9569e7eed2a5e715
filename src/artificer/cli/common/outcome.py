"""What ``run`` and ``resume`` say at the end: data on stdout, a summary on stderr, an exit code."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from artificer.archive import Archive
from artificer.artifacts.deliverable import Deliverable
from artificer.cli.terminal.console import complain, note, one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import FAILURES, cost, count, joined, tokens
from artificer.core.events import CompactionFailed, ModelFailed
from artificer.report import Views
from artificer.runs import Run
from artificer.world import World

Failed = ModelFailed | CompactionFailed
"""What may have stalled a run."""


@dataclass(frozen=True)
class Wish:
    """How a run's outcome is to be handed over."""

    folder: Path | None = None
    as_json: bool = False


def views_folder(world: Archive, run_id: str) -> Path:
    """Where the views of a run are written."""
    return world.config.project_folder / "runs" / run_id


def hand_over(world: World, run: Run, failure: Failed | None, wish: Wish) -> Exit:
    """Write the views, tell what came of the run, and return the exit code."""
    delivered = run.deliverable
    views = _save(world, run, wish.folder) if delivered else None
    if wish.as_json:
        out_json(as_json(run, delivered, views, failure))
    elif delivered and views and run.state.given.kind == "deliver":
        out(str(views.html))
        out(str(views.markdown))
    elif run.state.given.response_format is not None:
        if run.status == "completed":  # for a program: JSON that fits, or nothing
            out(run.text)
    elif run.text:
        out(run.text)
    if delivered is None:
        return _waiting(run) if run.status in ("waiting", "paused") else _stalled(run, failure)
    if delivered.message and not wish.as_json:
        note(delivered.message)
    _summarise(run, delivered)
    return Exit.OK if run.status == "completed" else Exit.INCOMPLETE


def as_json(
    run: Run, delivered: Deliverable | None, views: Views | None, failure: Failed | None
) -> dict[str, Any]:
    """The outcome as one JSON object; its members are listed in docs/reference/cli.md."""
    state = run.state
    return {
        "run": run.id,
        "kind": state.given.kind,
        "model": f"{state.given.provider}/{state.given.model}",
        "status": run.status,
        "reason": state.reason,
        "text": run.text,
        "output": _output(run),
        "message": run.message,
        "note": delivered.note if delivered else "",
        "files": _files(views),
        "findings": [f.model_dump(mode="json") for f in delivered.findings] if delivered else [],
        "turns": state.turn,
        "usage": state.usage.model_dump(mode="json"),
        "cost_micros": state.cost_micros,
        "questions": [asdict(question) for question in run.questions],
        "failure": {"code": failure.code, "message": failure.message} if failure else None,
        "deliverable": state.deliverable,
    }


def _output(run: Run) -> Any:
    asked = run.state.given.response_format is not None
    return run.output if asked and run.status == "completed" else None


def _save(world: World, run: Run, folder: Path | None) -> Views | None:
    """A report always has its views in the project; a folder of the user's own comes on top."""
    views = None
    if run.state.given.kind == "deliver":
        views = run.save(views_folder(world, run.id))
    return run.save(folder.absolute()) if folder else views


def _files(views: Views | None) -> dict[str, Any] | None:
    if views is None:
        return None
    artifacts = [str(path) for path in views.artifacts]
    return {"html": str(views.html), "markdown": str(views.markdown), "artifacts": artifacts}


def _summarise(run: Run, delivered: Deliverable) -> None:
    state = run.state
    facts = joined(count(state.turn, "turn"), tokens(state.usage), cost(state.cost_micros))
    note(f"{run.status} · {facts}", "good" if run.status == "completed" else "bad")
    if delivered.note:
        note(f"  {delivered.note}")
    for finding in delivered.findings:
        note(f"  {finding.code.replace('_', ' ')}: {finding.subject}: {finding.message}")


def _waiting(run: Run) -> Exit:
    if run.status == "paused":
        note(f"paused; go on with: artificer resume {run.id}")
        return Exit.WAITING
    for question in run.questions:
        asked = f"{question.tool} {one_line(question.arguments, 200)}"
        note(f"waits for your answer: {asked}")
        note(f"  {question.digest}  {question.reason}".rstrip())
    note(f"answer with: artificer approve {run.id}, or artificer approve --deny {run.id}")
    return Exit.WAITING


def _stalled(run: Run, failure: Failed | None) -> Exit:
    code = run.state.failure
    why = FAILURES[code] if code else "the run has not ended"
    said = f" ({failure.message.rstrip('.')})" if failure and failure.message else ""
    hint = f"artificer resume {run.id}"
    if code == "budget":
        hint += ", tomorrow (UTC) or when [budget] allows more (artificer budget)"
    complain(f"The run is {run.status}: {why}{said}.", hint)
    return Exit.STALLED
