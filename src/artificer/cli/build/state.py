"""The state of a build among runs."""

from __future__ import annotations

import click

from artificer.builds.state import BuildState
from artificer.errors import OperatorError
from artificer.runs import Run


def build_state(run: Run) -> BuildState:
    """Return the state of the build that a run is. Raises OperatorError for any other run."""
    if run.state.build is None:
        raise OperatorError(f"Run {run.id} is not a build.", hint="`artificer runs` lists them.")
    return run.state.build


def require_text(feedback: str) -> None:
    """Raise UsageError for feedback on a plan that says nothing."""
    if not feedback.strip():
        raise click.UsageError("Say what the next plan should do differently.")
