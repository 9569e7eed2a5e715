"""Replay: proof that a journal is what this program made of these facts (invariant 5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from artificer.core.events import (
    CallsJudged,
    DoubtResolved,
    Event,
    ReceiptIgnored,
    ReplyChecked,
    RunFinished,
)
from artificer.core.facts import Judges, establish
from artificer.core.intents import INLINE, CallTool, Compact, Generate, Intent
from artificer.core.late import resolved_by
from artificer.core.outputs import outputs_of
from artificer.core.policy import Consult
from artificer.core.record import EventLine, IntentLine
from artificer.core.state import RunPhase, RunState
from artificer.core.transitions import reduce
from artificer.errors import ArtificerError, TamperedError
from artificer.ports import BlobStore, Journal, Provider
from artificer.runtime.cited_data import data_for
from artificer.runtime.load import UNREDUCED, read_chain, read_records
from artificer.runtime.proving.bindings import unfaithful
from artificer.runtime.requests.prepared import Requests, asks

_FACTS = (CallsJudged, ReplyChecked, RunFinished)
"""The receipts of inline intents."""


class Divergence(Struct, frozen=True):
    """The first place where a replay comes to something else than the journal says."""

    seq: int
    what: str
    expected: str
    actual: str


class Replay(Struct):
    """The result of a replay.

    The counts are of items that were identical; ``digest`` is that of the last such state.
    ``requests`` counts the model requests whose digest was recomputed; ``requests_unchecked``
    those whose provider is not known here, or was not where they were recorded,
    ``verdicts_unchecked`` the verdicts on calls for which Cedar policies could not be asked here,
    ``replies_unchecked`` the replies that the agent's own code has checked. ``drift`` names facts
    that this release would word or judge differently, and each verdict or status that it would
    decide otherwise; they do not change any state.
    """

    run: str
    events: int = 0
    intents: int = 0
    requests: int = 0
    requests_unchecked: int = 0
    verdicts_unchecked: int = 0
    replies_unchecked: int = 0
    digest: str = ""
    divergence: Divergence | None = None
    drift: list[str] = field(default_factory=list)

    @property
    def identical(self) -> bool:
        """Whether every state, intent and request came out byte for byte."""
        return self.divergence is None


class _Diverged(Exception):  # ends the replay at the first difference
    def __init__(self, seq: int, what: str, expected: str, actual: str) -> None:
        super().__init__(what)
        self.divergence = Divergence(seq, what, expected, actual)


async def replay(
    journal: Journal,
    blobs: BlobStore,
    run: str,
    provider: Provider | None,
    consult: Consult | None = None,
) -> Replay:
    """Reduce a run's journal again and compare every digest with the recorded one.

    ``provider`` maps requests as the run's provider did; without one their digests are not
    recomputed, and the result says how many. ``consult`` asks the run's Cedar policies; without
    it, verdicts of a run that has some are taken as recorded, and the result says how many.

    Raises:
        NotFoundError: no such run.
    """
    records = await read_records(journal, run)
    report = Replay(run)
    machine = _Machine(report, provider, consult, blobs)
    seq = 0
    try:
        for line in read_chain(run, records, blobs):
            seq = line.seq
            machine.step(line)
        machine.end(seq + 1)
    except _Diverged as diverged:
        report.divergence = diverged.divergence
    except TamperedError as error:
        report.divergence = Divergence(seq + 1, "record", "as it was written", error.message)
    except UNREDUCED as error:
        why = error.message if isinstance(error, ArtificerError) else type(error).__name__
        report.divergence = Divergence(seq, "transition", "a valid event", why)
    return report


class _Machine:
    def __init__(
        self,
        report: Replay,
        provider: Provider | None,
        consult: Consult | None,
        blobs: BlobStore,
    ) -> None:
        self.report = report
        self._blobs = blobs
        self.state = RunState()
        self._requests = Requests(provider) if provider else None
        self._judges = Judges(consult)
        self._expected: deque[Intent] = deque()
        self._facts: deque[Intent] = deque()
        self._calls: dict[int, CallTool] = {}
        self._before: Event | None = None

    def step(self, line: EventLine | IntentLine) -> None:
        if isinstance(line, IntentLine):
            self._intent(line)
        else:
            self._event(line)

    def end(self, seq: int) -> None:
        """A journal may end anywhere between commits, and a commit is whole."""
        if self._unchecked():
            self._facts.clear()
        if self._expected or self._facts:
            missing = (self._expected or self._facts)[0]
            raise _Diverged(seq, f"intent {missing.n}", missing.type, "the journal ends")

    def _event(self, line: EventLine) -> None:
        if self._expected:
            missing = self._expected[0]
            raise _Diverged(line.seq, f"intent {missing.n}", missing.type, line.event.type)
        event, before = line.event, self.state
        if self._facts and self._unchecked() and type(event) is not ReplyChecked:
            self._facts.clear()
        for found in unfaithful(before, event, self._blobs):
            raise _Diverged(line.seq, found.sentence(), "what the data gives", "another payload")
        if self._facts and isinstance(event, _FACTS):
            self._compare_fact(event)
        if type(event) is DoubtResolved and not event.letter:
            self._compare_evidence(line.seq, event)
        self._before = event
        outputs, _ = outputs_of(before, event)
        if line.outputs is not None and line.outputs != outputs:
            raise _Diverged(line.seq, "outputs", str(line.outputs), str(outputs))
        self.state, intents = reduce(before, event)
        actual = self.state.digest
        if actual != line.state:
            what = f"state after {event.type} in phase {before.phase.value}"
            raise _Diverged(line.seq, what, line.state, actual)
        self.report.events += 1
        self.report.digest = actual
        self._expected.extend(intents)
        self._facts.extend([intent for intent in intents if type(intent) in INLINE])

    def _unchecked(self) -> bool:
        """Whether a reply waits for the agent's own code, which is asked after a commit."""
        return self.state.phase is RunPhase.CHECKING and bool(self.state.run_spec.checked_by)

    def _intent(self, line: IntentLine) -> None:
        if not self._expected:
            raise _Diverged(line.seq, "intent", "no intent", line.intent.type)
        expected = self._expected.popleft()
        if expected != line.intent or expected.digest != line.digest:
            raise _Diverged(line.seq, f"intent {expected.n}", line.digest, expected.digest)
        if asks(expected):
            self._request(line, expected)
        if type(expected) is CallTool:
            self._calls[expected.n] = expected
        self.report.intents += 1

    def _request(self, line: IntentLine, intent: Generate | Compact) -> None:
        if self._requests is None or line.request is None:
            self.report.requests_unchecked += 1
            return
        prepared, actual = self._requests.prepare(self.state, intent)
        if actual != line.request:
            what = f"request of intent {line.intent.n}"
            raise _Diverged(line.seq, what, str(line.request), actual)
        tools = self._requests.tools(self.state, prepared)
        if line.tools and (tools is None or tools[0] not in line.tools):
            what = f"tools of intent {line.intent.n}"
            raise _Diverged(line.seq, what, line.tools[0], tools[0] if tools else "no tools")
        self.report.requests += 1

    def _compare_evidence(self, seq: int, event: DoubtResolved) -> None:
        """Compare a resolution without a person with the late result of that very call."""
        late, resolved = self._before, None
        if isinstance(late, ReceiptIgnored) and (late.intent or 0) in self._calls:
            resolved = resolved_by(self.state, self._calls[late.intent or 0], late)
        if resolved is None or resolved.call_id != event.call_id or not event.happened:
            raise _Diverged(seq, "DoubtResolved", "a late result of the call", "none before it")
        if resolved != event:
            self.report.drift.append(f"DoubtResolved (call {event.call_id})")

    def _compare_fact(self, event: CallsJudged | ReplyChecked | RunFinished) -> None:
        """Facts of our own libraries are recomputed too; a difference is drift, not divergence."""
        if self.state.phase is RunPhase.FINISHED:
            return
        intent = self._facts.popleft()
        if (
            isinstance(event, CallsJudged)
            and self._judges.consult is None
            and self.state.run_spec.policy.cedar
        ):
            self.report.verdicts_unchecked += len(event.verdicts)
            return
        if isinstance(event, ReplyChecked) and self.state.run_spec.checked_by:
            self.report.replies_unchecked += 1
            return
        judges = self._judges
        if data := data_for(self.state, intent, self._blobs):
            judges = replace(judges, sources=data)
        fact, _ = establish(self.state, intent, event.at, judges)
        if fact != event:
            decided = "".join(f"; {one}" for one in _decided_otherwise(event, fact))
            self.report.drift.append(f"{event.type} (intent {event.intent}){decided}")


def _decided_otherwise(recorded: Event, now: Event) -> Iterator[str]:
    """Say what this release decides otherwise, and not only in other words."""
    if isinstance(recorded, CallsJudged) and isinstance(now, CallsJudged):
        for one, other in zip(recorded.verdicts, now.verdicts, strict=False):
            if one.verdict != other.verdict:
                yield f"call {one.call_id}: recorded {one.verdict}, now {other.verdict}"
    statuses = [one.status for one in (recorded, now) if isinstance(one, RunFinished)]
    if len(set(statuses)) > 1:
        yield f"recorded {statuses[0]}, now {statuses[1]}"
