"""Falling back: the next model of a run's list takes over when its model does not answer."""

from __future__ import annotations

from artificer.core.state import FailedModel, RunState
from artificer.values.model import FALLBACK_FAILURES


def falls_back(state: RunState, code: str) -> bool:
    """Whether another model is asked after a failure; none is if someone wants the run to end."""
    left = bool(state.run_spec.fallbacks) and code in FALLBACK_FAILURES
    return left and state.hold != "interrupt"


def fallen_back(state: RunState, code: str) -> RunState:
    """Return the state in which the next model can be asked for the same turn."""
    before = state.run_spec
    failed = FailedModel(model=before.full_name, code=code, turn=state.turn)
    spec = before.fallen_back()
    return state.replace(
        spec=spec,
        spec_digest=spec.digest,
        failed_models=(*state.failed_models, failed),
        turn=state.turn - 1,
        failure=None,
    )


def models_in_words(state: RunState) -> str:
    """Name the run's model, and the models that it replaced with the reason."""
    failed = [f"{each.model} ({each.code}, turn {each.turn})" for each in state.failed_models]
    name = state.run_spec.full_name
    return f"{name}, instead of {', '.join(failed)}" if failed else name
