"""The checks of a replay, each of some steps of a run at a time.

A check that looks at sixty steps in a row takes three quarters of the time that it takes among the
others, one step at a time: its code then stays in the processor's caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from artificer.core.events import CallsJudged, Event, ReplyChecked, RunFinished
from artificer.core.facts import Judges, establish
from artificer.core.outputs import outputs_of
from artificer.core.policy import Consult
from artificer.ports import BlobStore, Provider
from artificer.runtime.cited_data import data_for
from artificer.runtime.load import UNREDUCED
from artificer.runtime.proving.bindings import unfaithful
from artificer.runtime.proving.divergence import Diverged, Divergence, failed
from artificer.runtime.proving.steps import EventStep, Followed, IntentStep
from artificer.runtime.requests.prepared import Requests, asks

OneStep = TypeVar("OneStep", EventStep, IntentStep)


class Checks:
    """The checks of one run."""

    def __init__(
        self, provider: Provider | None, consult: Consult | None, blobs: BlobStore
    ) -> None:
        self._blobs = blobs
        self._requests = Requests(provider) if provider else None
        self._judges = Judges(consult)

    def first(self, steps: Followed) -> Divergence | None:
        """Return the first divergence among some steps, and note on each what was compared."""
        events, intents, first = steps.events, steps.intents, steps.divergence
        first = _before(first, self._is_faithful, events)
        first = _before(first, _has_outputs, [s for s in events if s.line.outputs is not None])
        first = _before(first, _has_state, events)
        first = _before(first, _is_expected, intents)
        first = _before(first, self._has_request, [s for s in intents if asks(s.expected)])
        return _before(first, self._compare_fact, [s for s in events if s.fact is not None])

    def _is_faithful(self, step: EventStep) -> None:
        for found in unfaithful(step.before, step.line.event, self._blobs):
            what = found.sentence()
            raise Diverged(step.line.seq, what, "what the data gives", "another payload")

    def _has_request(self, step: IntentStep) -> None:
        line, intent = step.line, step.expected
        step.compared = False
        if self._requests is None or line.request is None or not asks(intent):
            return
        prepared, actual = self._requests.prepare(step.state, intent)
        if actual != line.request:
            raise Diverged(line.seq, f"request of intent {intent.n}", line.request, actual)
        tools = self._requests.tools(step.state, prepared)
        if line.tools and (tools is None or tools[0] not in line.tools):
            actual = tools[0] if tools else "no tools"
            raise Diverged(line.seq, f"tools of intent {intent.n}", line.tools[0], actual)
        step.compared = True

    def _compare_fact(self, step: EventStep) -> None:
        """Facts of our own libraries are recomputed too; a difference is drift, not divergence."""
        event, state, intent = step.line.event, step.before, step.fact
        judges, spec = self._judges, state.run_spec
        if isinstance(event, CallsJudged) and judges.consult is None and spec.policy.cedar:
            step.unchecked = len(event.verdicts)
        elif isinstance(event, ReplyChecked) and spec.checked_by:
            step.unchecked = 1
        elif intent is not None:
            if data := data_for(state, intent, self._blobs):
                judges = replace(judges, sources=data)
            fact, _ = establish(state, intent, event.at, judges)
            if fact != event:
                decided = "".join(f"; {one}" for one in _decided_otherwise(event, fact))
                step.drift = f"{event.type} (intent {intent.n}){decided}"


def _before(
    first: Divergence | None, check: Callable[[OneStep], None], steps: Sequence[OneStep]
) -> Divergence | None:
    """Return what a check finds in the steps before the ``first`` divergence, or that."""
    seq = 0
    try:
        for step in steps:
            seq = step.line.seq
            if first is not None and seq >= first.seq:
                break
            check(step)
    except (Diverged, *UNREDUCED) as error:
        return failed(seq, error)
    return first


def _has_outputs(step: EventStep) -> None:
    outputs, _ = outputs_of(step.before, step.line.event)
    if outputs != step.line.outputs:
        raise Diverged(step.line.seq, "outputs", str(step.line.outputs), str(outputs))


def _has_state(step: EventStep) -> None:
    line, actual = step.line, step.after.digest
    if actual != line.state:
        what = f"state after {line.event.type} in phase {step.before.phase.value}"
        raise Diverged(line.seq, what, line.state, actual)


def _is_expected(step: IntentStep) -> None:
    line, expected = step.line, step.expected
    if expected != line.intent or expected.digest != line.digest:
        raise Diverged(line.seq, f"intent {expected.n}", line.digest, expected.digest)


def _decided_otherwise(recorded: Event, now: Event) -> Iterator[str]:
    """Say what this release decides otherwise, and not only in other words."""
    if isinstance(recorded, CallsJudged) and isinstance(now, CallsJudged):
        for one, other in zip(recorded.verdicts, now.verdicts, strict=False):
            if one.verdict != other.verdict:
                yield f"call {one.call_id}: recorded {one.verdict}, now {other.verdict}"
    statuses = [one.status for one in (recorded, now) if isinstance(one, RunFinished)]
    if len(set(statuses)) > 1:
        yield f"recorded {statuses[0]}, now {statuses[1]}"
