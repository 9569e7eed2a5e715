"""Replay: proof that a journal is what this program made of these facts (invariant 5)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from artificer.core.policy import Consult
from artificer.core.record import Line
from artificer.ports import BlobStore, Journal, Provider
from artificer.runtime.load import UNREDUCED, read_chain, read_records
from artificer.runtime.proving.checks import Checks
from artificer.runtime.proving.divergence import Divergence, failed
from artificer.runtime.proving.steps import Followed, Follower

AT_ONCE = 60
"""Records that are followed and checked together."""


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
    report, follower, checks = Replay(run), Follower(), Checks(provider, consult, blobs)
    for lines, damage in _parts(read_chain(run, records, blobs)):
        steps = follower.follow(lines)
        report.divergence = checks.first(steps) or damage
        _count(report, steps)
        if report.divergence is not None:
            return report
    report.divergence = follower.end(len(records) + 1)
    return report


def _parts(chain: Iterator[Line]) -> Iterator[tuple[list[Line], Divergence | None]]:
    """Yield the records of a run, some at a time; with the last ones, where the next is damaged."""
    lines: list[Line] = []
    seq, damage = 0, None
    try:
        for line in chain:
            lines.append(line)
            seq = line.seq
            if len(lines) == AT_ONCE:
                yield lines, None
                lines = []
    except UNREDUCED as error:
        damage = failed(seq + 1, error)
    except Exception:  # of somebody else's storage: what comes before it is looked at first
        yield lines, None
        raise
    yield lines, damage


def _count(report: Replay, steps: Followed) -> None:
    """Count the steps that come before the divergence, and what was compared on its record too."""
    events, intents, compared = steps.events, steps.intents, steps.events
    if report.divergence is not None:
        first = report.divergence.seq
        compared = [step for step in events if step.line.seq <= first]
        events = [step for step in events if step.line.seq < first]
        intents = [step for step in intents if step.line.seq < first]
    report.events += len(events)
    report.intents += len(intents)
    for step in events[-1:]:
        report.digest = step.line.state
    report.requests += sum([step.compared is True for step in intents])
    report.requests_unchecked += sum([step.compared is False for step in intents])
    report.drift += [step.drift for step in compared if step.drift]
    report.verdicts_unchecked += sum([step.verdicts_unchecked for step in compared])
    report.replies_unchecked += sum([step.replies_unchecked for step in compared])
