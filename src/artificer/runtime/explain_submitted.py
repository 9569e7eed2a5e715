"""Explaining a run that workers execute: who goes on with it, and when."""

from __future__ import annotations

from datetime import UTC, datetime

from artificer.core.state import RunPhase, RunState


def workers_go_on(state: RunState, retry_at: int | None) -> bool:
    """Whether workers go on with a submitted run by themselves, or when somebody has answered."""
    if state.phase is RunPhase.STALLED:
        return retry_at is not None
    return state.phase not in (RunPhase.FINISHED, RunPhase.PAUSED)


def who_goes_on(state: RunState, retry_at: int | None, *, queued: bool) -> str:
    """Return who goes on with a submitted run that is not over, and when."""
    if not workers_go_on(state, retry_at):
        return "Workers leave it alone until somebody resumes it."
    if queued:
        who = "It was submitted, and waits for a worker."
    elif retry_at is not None:
        who = f"A worker asks the model again after {_utc(retry_at)}."
    elif state.only_waits:
        who = "A worker goes on with it then."
    else:
        who = "A worker executes it; if that one is gone, another one goes on with it."
    return f"{who} If none is running, start one."


def worker_command(state: RunState) -> str:
    """Return the command that starts a worker for a submitted run."""
    agent = state.run_spec.submission.agent if state.run_spec.submission else ""
    return f"artificer worker --agent {agent}" if agent else "artificer worker"


def _utc(at: int) -> str:
    return f"{datetime.fromtimestamp(at // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
