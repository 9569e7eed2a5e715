"""The checks of a replay, each of some steps of a run at a time.

A check that looks at sixty steps in a row takes three quarters of the time that it takes among the
others, one step at a time: its code then stays in the processor's caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from artificer.core.events import CallsJudged, Event, ReplyChecked, RunFinished
from artificer.core.facts import Judges, establish
from artificer.core.outputs import outputs_of
from artificer.core.policy import Consult
from artificer.ports import BlobStore, Provider
from artificer.runtime.cited_data import data_for
from artificer.runtime.proving.bindings import unfaithful
from artificer.runtime.proving.divergence import FAILURES, Diverged, Divergence, failed
from artificer.runtime.proving.steps import FACTS, EventStep, Followed, IntentStep
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
        events, intents = steps.events, steps.intents
        facts = [step for step in events if step.fact is not None]
        found = _Found(steps.divergence, _FOLLOWED)
        found = _sooner(found, 0, self._is_faithful, events)
        found = _sooner(found, 1, self._compare_fact, facts)
        found = _sooner(found, 2, _has_outputs, events)
        found = _sooner(found, 4, _has_state, events)
        found = _sooner(found, 4, _is_expected, intents)
        found = _sooner(found, 5, self._has_request, intents)
        return found.divergence

    def _is_faithful(self, step: EventStep) -> None:
        for found in unfaithful(step.before, step.line.event, self._blobs):
            what = found.sentence()
            raise Diverged(step.line.seq, what, "what the data gives", "another payload")

    def _has_request(self, step: IntentStep) -> None:
        line, intent = step.line, step.expected
        if not asks(intent):
            return
        step.compared = False
        if self._requests is None or line.request is None:
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
            step.verdicts_unchecked = len(event.verdicts)
        elif isinstance(event, ReplyChecked) and spec.checked_by:
            step.replies_unchecked = 1
        elif intent is not None and isinstance(event, FACTS):
            if data := data_for(state, intent, self._blobs):
                judges = replace(judges, sources=data)
            fact, _ = establish(state, intent, event.at, judges)
            if fact != event:
                decided = "".join(f"; {one}" for one in _decided_otherwise(event, fact))
                step.drift = f"{event.type} (intent {event.intent}){decided}"


class _Found(Struct, frozen=True):
    """The first divergence so far, if there is one, and the rank of what has found it: of several
    on one record, that of the lowest rank is the first.
    """

    divergence: Divergence | None
    rank: int


_FOLLOWED = 3
"""The rank of what does not follow, as the checks of the state before it have lower ones."""


def _sooner(
    found: _Found, rank: int, check: Callable[[OneStep], None], steps: Sequence[OneStep]
) -> _Found:
    """Return what a check finds, if it comes sooner than what was found before, or that."""
    last = None
    if found.divergence is not None:  # on its record only those of a lower rank come sooner
        last = found.divergence.seq if rank < found.rank else found.divergence.seq - 1
    seq = 0
    try:
        for step in steps:
            seq = step.line.seq
            if last is not None and seq > last:
                break
            check(step)
    except FAILURES as error:
        return _Found(failed(seq, error), rank)
    return found


def _has_outputs(step: EventStep) -> None:
    if step.line.outputs is None:
        return
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
