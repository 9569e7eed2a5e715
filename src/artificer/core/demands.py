"""Calls that a tool choice demands: one that the gate refuses is demanded again (since rules 4).

The choices and the settings of a run are given turn by turn. A turn whose demanded call was refused
has not done what it was for, so the next turn takes its choice and its settings once more, within
the repair rounds; those of later turns move on by one.
"""

from __future__ import annotations

from artificer.core.rules import since
from artificer.core.state import RunState
from artificer.core.verdict import Verdict

_AS_WRITTEN = frozenset({"invalid", "unknown_tool"})
"""Refusals because of how a call is written. What a policy or a person denies stays denied."""


def demanded_again(state: RunState) -> RunState:
    """Return the state at the end of a turn, whose choice holds again if its call was refused."""
    spec = state.run_spec
    if not since(spec, 4) or state.demands >= spec.limits.repairs:
        return state
    choice = state.choice(state.turn)
    if choice.mode not in ("required", "tool"):
        return state
    verdicts = [call.verdict for call in state.calls if call.verdict is not None]
    if any(_meets(verdict, choice.name) for verdict in verdicts):
        return state
    return again(state)


def again(state: RunState) -> RunState:
    """Return the state in which the next turn has the choice and the settings of this one."""
    return state.replace(demands=state.demands + 1)


def _meets(verdict: Verdict, name: str | None) -> bool:
    """Whether a call is what was demanded, or is denied, which another try would not change."""
    return verdict.verdict not in _AS_WRITTEN and (name is None or verdict.tool == name)
