"""Steps that every transition takes with a state: intents out, receipts in, calls answered."""

from __future__ import annotations

from artificer.core.intents import Intent
from artificer.core.state import CallState, Pending, RunState
from artificer.core.waits import CallWait
from artificer.errors import InvariantError
from artificer.values.blocks import CallStatus

Step = tuple[RunState, tuple[Intent, ...]]
"""The state after an event, and what should now be done."""


def emit(state: RunState, *intents: Intent, **changes: object) -> Step:
    """Add intents to the pending ones, with whatever else changes in the state."""
    pending = [Pending(n=i.n, type=i.type, call_id=i.call_id) for i in intents]
    changes["pending"] = (*state.pending, *pending)
    changes["next_intent"] = state.next_intent + len(intents)
    return state.replace(**changes), intents


def settle(state: RunState, n: int, **changes: object) -> RunState:
    """Take an intent off the pending ones: its receipt has come. Copies are what replays do most,
    so whatever else changes goes with it.
    """
    rest = changes["pending"] = tuple([p for p in state.pending if p.n != n])
    if len(rest) == len(state.pending):
        raise InvariantError(f"Intent {n} is not pending.")
    if state.waits:
        changes["waits"] = without_wait(state, n)
    return state.replace(**changes)


def without_wait(state: RunState, n: int) -> tuple[CallWait, ...]:
    """The calls that wait, without that of an intent."""
    return tuple([wait for wait in state.waits if wait.intent != n])


def is_pending(state: RunState, n: int) -> bool:
    """Whether an intent still waits for its receipt."""
    return any(pending.n == n for pending in state.pending)


def call_of(state: RunState, n: int) -> CallState:
    """The call of this turn to which an intent belongs."""
    for pending in state.pending:
        for call in state.calls:
            if pending.n == n and pending.call_id == call.id:
                return call
    raise InvariantError(f"Intent {n} belongs to no call of this turn.")


def calls_with(state: RunState, call: CallState) -> tuple[CallState, ...]:
    """The calls of this turn, with one instead of that with its id."""
    return tuple([call if c.id == call.id else c for c in state.calls])


def answered(call: CallState, status: CallStatus, content: str) -> CallState:
    """Give a call its one result."""
    return call.replace(status=status, content=content)
