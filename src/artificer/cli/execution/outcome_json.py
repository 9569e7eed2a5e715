"""A run's outcome as one JSON object."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from artificer.artifacts.deliverable import Deliverable
from artificer.core.events import CompactionFailed, ModelFailed
from artificer.report import Views
from artificer.runs import Run

Failed = ModelFailed | CompactionFailed
"""An event that may have stalled a run."""


def outcome_json(
    run: Run, delivered: Deliverable | None, views: Views | None, failure: Failed | None
) -> dict[str, Any]:
    """Return the object; its members are listed in docs/reference/cli.md."""
    state = run.state
    return {
        "run": run.id,
        "kind": state.run_spec.kind,
        "model": state.run_spec.full_name,
        "failed_models": [failed.to_json() for failed in state.failed_models],
        "status": run.status,
        "reason": state.reason,
        "text": run.text,
        "output": _output(run),
        "message": run.message,
        "note": delivered.note if delivered else "",
        "files": _files(views),
        "findings": [f.to_json() for f in delivered.findings] if delivered else [],
        "turns": state.turn,
        "usage": state.usage.to_json(),
        "cost_micros": state.cost_micros,
        "questions": to_builtins(run.questions),
        "failure": {"code": failure.code, "message": failure.message} if failure else None,
        "deliverable": state.deliverable,
    }


def _output(run: Run) -> Any:
    has_schema = run.state.run_spec.response_format is not None
    return run.output if has_schema and run.status == "completed" else None


def _files(views: Views | None) -> dict[str, Any] | None:
    if views is None:
        return None
    artifacts = [str(path) for path in views.artifacts]
    return {"html": str(views.html), "markdown": str(views.markdown), "artifacts": artifacts}
