"""The steps of a run: the states and intents that this program makes of its recorded events."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from msgspec import Struct, field

from artificer.core.events import (
    CallsJudged,
    DoubtResolved,
    Event,
    ReceiptIgnored,
    ReplyChecked,
    RunFinished,
)
from artificer.core.intents import INLINE, CallTool, Intent
from artificer.core.late import resolved_by
from artificer.core.record import EventLine, IntentLine, Line
from artificer.core.state import RunPhase, RunState
from artificer.core.transitions import reduce
from artificer.runtime.proving.divergence import FAILURES, Diverged, Divergence, failed

FACTS = (CallsJudged, ReplyChecked, RunFinished)
"""The receipts of inline intents."""


class EventStep(Struct):
    """An event, with the states before and after it.

    ``fact`` is the inline intent whose receipt it is, where that is to be established again, and
    ``drift`` says what this release would word or judge differently.
    """

    line: EventLine
    before: RunState
    after: RunState
    fact: Intent | None = None
    drift: str = ""
    verdicts_unchecked: int = 0
    replies_unchecked: int = 0


class IntentStep(Struct):
    """An intent, with the one that is expected in its place, and the state it is of.

    ``compared`` says whether its request to the model was; None if it has none.
    """

    line: IntentLine
    state: RunState
    expected: Intent
    compared: bool | None = None


class Followed(Struct):
    """The steps of some records, up to a divergence. An event that does not follow is the last."""

    events: list[EventStep] = field(default_factory=list)
    intents: list[IntentStep] = field(default_factory=list)
    divergence: Divergence | None = None


class Follower:
    """Follows the records of a run, from the first to the last."""

    def __init__(self) -> None:
        self._state = RunState()
        self._expected: deque[Intent] = deque()
        self._facts: deque[Intent] = deque()
        self._calls: dict[int, CallTool] = {}
        self._before: Event | None = None

    def follow(self, lines: Sequence[Line]) -> Followed:
        """Follow the next records, and return their steps."""
        steps, seq = Followed(), 0
        try:
            for line in lines:
                seq = line.seq
                if isinstance(line, IntentLine):
                    steps.intents.append(self._intent(line))
                else:
                    self._event(line, steps.events)
        except FAILURES as error:
            steps.divergence = failed(seq, error)
        return steps

    def end(self, seq: int) -> Divergence | None:
        """Return what is missing where the journal ends, before ``seq``.

        It may end anywhere between commits, and a commit is whole.
        """
        if self._unchecked():
            self._facts.clear()
        missing = next(iter([*self._expected, *self._facts]), None)
        if missing is None:
            return None
        return Divergence(seq, f"intent {missing.n}", missing.type, "the journal ends")

    def _event(self, line: EventLine, steps: list[EventStep]) -> None:
        if self._expected:
            missing = self._expected[0]
            raise Diverged(line.seq, f"intent {missing.n}", missing.type, line.event.type)
        event, before = line.event, self._state
        if self._facts and self._unchecked() and type(event) is not ReplyChecked:
            self._facts.clear()
        fact, drift = None, ""
        if self._facts and type(event) in FACTS and before.phase is not RunPhase.FINISHED:
            fact = self._facts.popleft()
        if type(event) is DoubtResolved and not event.letter:
            drift = self._compare_evidence(line.seq, event)
        self._before = event
        step = EventStep(line, before, before, fact, drift)
        steps.append(step)
        step.after, intents = reduce(before, event)
        self._state = step.after
        for intent in intents:
            self._expected.append(intent)
            if type(intent) in INLINE:
                self._facts.append(intent)

    def _unchecked(self) -> bool:
        """Whether a reply waits for the agent's own code, which is asked after a commit."""
        return self._state.phase is RunPhase.CHECKING and bool(self._state.run_spec.checked_by)

    def _intent(self, line: IntentLine) -> IntentStep:
        if not self._expected:
            raise Diverged(line.seq, "intent", "no intent", line.intent.type)
        expected = self._expected.popleft()
        if type(expected) is CallTool:
            self._calls[expected.n] = expected
        return IntentStep(line, self._state, expected)

    def _compare_evidence(self, seq: int, event: DoubtResolved) -> str:
        """Compare a resolution without a person with the late result of that very call."""
        late, resolved = self._before, None
        if isinstance(late, ReceiptIgnored) and (late.intent or 0) in self._calls:
            resolved = resolved_by(self._state, self._calls[late.intent or 0], late)
        if resolved is None or resolved.call_id != event.call_id or not event.happened:
            raise Diverged(seq, "DoubtResolved", "a late result of the call", "none before it")
        return "" if resolved == event else f"DoubtResolved (call {event.call_id})"
