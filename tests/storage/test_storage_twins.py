"""The two journals answer alike, whatever is asked of them and in whatever order."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artificer.errors import ArtificerError
from artificer.ports import Head, Journal, Lease, Record
from artificer.storage.memory import MemoryJournal
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.records import records_after

pytestmark = pytest.mark.req("journal-port", "journal-fence", "journal-all-or-nothing")

RUNS = st.sampled_from(["a", "b"])


@dataclass(frozen=True)
class Acquire:
    run: str


@dataclass(frozen=True)
class Append:
    """Append ``count`` records at an epoch and a head that are so many steps behind the last."""

    run: str
    count: int
    epochs_behind: int
    heads_behind: int


@dataclass(frozen=True)
class Read:
    run: str
    after: int


Step = Acquire | Append | Read

STEPS = st.lists(
    st.one_of(
        st.builds(Acquire, RUNS),
        st.builds(
            Append,
            RUNS,
            st.integers(0, 3),
            st.sampled_from([0, 0, 0, 0, 1, -1]),
            st.sampled_from([0, 0, 0, 0, 1, 2]),
        ),
        st.builds(Read, RUNS, st.integers(-1, 6)),
    ),
    max_size=25,
)


class Driver:
    """Takes the steps on one journal and writes down each answer, or the error and its words."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._epochs: dict[str, int] = {}
        self._heads: dict[str, list[Head]] = {}

    async def answers(self, steps: Sequence[Step]) -> list[object]:
        answers: list[object] = []
        for step in steps:
            try:
                answers.append(await self._take(step))
            except ArtificerError as error:
                answers.append((type(error), str(error)))
        return [*answers, await self._journal.runs()]

    async def _take(self, step: Step) -> Lease | Head | list[Record]:
        if isinstance(step, Acquire):
            lease = await self._journal.acquire(step.run)
            self._epochs[step.run] = lease.epoch
            return lease
        if isinstance(step, Read):
            return await self._journal.read(step.run, step.after)
        heads = self._heads.setdefault(step.run, [Head()])
        head = heads[max(0, len(heads) - 1 - step.heads_behind)]
        epoch = self._epochs.get(step.run, 1) - step.epochs_behind
        records = records_after(head, step.run, *range(step.count))
        heads.append(await self._journal.append(step.run, epoch, head, records))
        return heads[-1]


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_twins_answer_alike(steps: list[Step]) -> None:
    async def compare() -> None:
        memory = MemoryJournal()
        with tempfile.TemporaryDirectory() as name:
            async with SqliteJournal(Path(name) / "journal.db", "process") as sqlite:
                assert await Driver(sqlite).answers(steps) == await Driver(memory).answers(steps)
                assert await sqlite.audit() == await memory.audit() == []

    asyncio.run(compare())
