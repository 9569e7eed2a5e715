"""Explaining a run that workers execute: who continues it, and when."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.core.state import RunPhase, RunState
from artificer.runtime.abandoned import AbandonedRun
from artificer.runtime.explaining.why import why_fallen, why_of
from artificer.runtime.load import Loaded
from artificer.system.utc import utc_text


def workers_go_on(state: RunState, retry_at: int | None) -> bool:
    """Whether workers continue with a submitted run by themselves, or when someone has answered."""
    if state.phase is RunPhase.STALLED:
        return retry_at is not None
    return state.phase not in (RunPhase.FINISHED, RunPhase.PAUSED)


def why_submitted(
    loaded: Loaded, again: int | None, abandoned: Sequence[AbandonedRun], *, queued: bool
) -> str:
    """Return why a run that workers execute stands where it does, and who continues with it."""
    state = loaded.state
    why = why_of(state, loaded.lines)
    if state.status is not None:
        return why
    who = why_abandoned(loaded.run, abandoned) or who_goes_on(state, again, queued=queued)
    if state.standing == "open" and not state.only_waits:
        return who
    return f"{why}{'' if why.endswith(('.', '!', '?')) else '.'} {who}"


def why_abandoned(run: str, abandoned: Sequence[AbandonedRun]) -> str:
    """Return why workers leave a run alone, or which of those that it waits for; else nothing."""
    if not abandoned:
        return ""
    first, more = abandoned[0], "" if len(abandoned) == 1 else f", and {len(abandoned) - 1} more"
    if first.run != run:
        return f"Workers leave {first.run}{more} alone: a person has to see to that first."
    if first.falls:
        return why_fallen(first.falls)
    attempts = "1 attempt" if first.failures == 1 else f"{first.failures} attempts"
    return (
        f"It is a dead letter: {attempts} of workers failed in a row. They leave it "
        "alone until somebody queues it again, in the studio under Jobs, or resumes it. "
        f"The last error: {first.error}"
    )


def who_goes_on(state: RunState, retry_at: int | None, *, queued: bool) -> str:
    """Return who continues with a submitted run that is not over, and when."""
    if not workers_go_on(state, retry_at):
        return "Workers leave it alone until a person resumes it."
    if queued:
        who = "It was submitted, and waits for a worker."
    elif retry_at is not None:
        who = f"A worker asks the model again after {utc_text(retry_at)} UTC."
    elif state.only_waits:
        who = "A worker continues it then."
    else:
        who = "A worker executes it; if that worker is gone, another one continues it."
    return f"{who} If none is running, start one."


def worker_command(state: RunState) -> str:
    """Return the command that starts a worker for a submitted run."""
    agent = state.run_spec.submission.agent if state.run_spec.submission else ""
    return f"artificer worker --agent {agent}" if agent else "artificer worker"
