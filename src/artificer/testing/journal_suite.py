"""Conformance tests for journals, to run with your own.

Subclass `JournalSuite` in a test module and give it a pytest fixture ``journal`` that yields a
fresh, open journal. The tests are coroutines: pytest-asyncio runs them in its ``auto`` mode.
"""

from __future__ import annotations

import asyncio

from artificer.errors import CanonicalError, Fenced, InvariantError
from artificer.ports import Head, Journal, Record
from artificer.testing.leases_suite import LeasesSuite
from artificer.testing.records import records_after, refusal
from artificer.values.canon import canonical, digest_of


class JournalSuite(LeasesSuite):
    """The behavior of the `Journal` port. Subclass it and give it a fixture ``journal``."""

    async def test_first_acquire_makes_the_run(self, journal: Journal) -> None:
        """Acquiring a new run creates it with an empty head."""
        lease = await journal.acquire("a")
        assert lease.epoch >= 1
        assert lease.head == Head()
        assert [(row.run, row.epoch, row.head) for row in await journal.runs()] == [
            ("a", lease.epoch, Head())
        ]

    async def test_epochs_only_rise(self, journal: Journal) -> None:
        """Every acquisition gets a higher epoch, and the current head."""
        epochs = []
        head = Head()
        for turn in range(5):
            lease = await journal.acquire("a")
            assert lease.head == head
            epochs.append(lease.epoch)
            head = await journal.append("a", lease.epoch, head, records_after(head, "a", turn))
        assert epochs == sorted(set(epochs))

    async def test_epochs_rise_over_a_release(self, journal: Journal) -> None:
        """Otherwise a process that released a run could append to it after the next owner."""
        stale = await journal.acquire("a")
        await journal.release("a", stale.epoch)
        lease = await journal.acquire("a")
        assert lease.epoch > stale.epoch
        late = journal.append("a", stale.epoch, Head(), records_after(Head(), "a", 1))
        assert isinstance(await refusal(late), Fenced)
        await journal.append("a", lease.epoch, Head(), records_after(Head(), "a", 2))

    async def test_what_was_appended_is_read(self, journal: Journal) -> None:
        """Records are returned unchanged and in order; ``after`` skips the first ones."""
        lease = await journal.acquire("a")
        records = records_after(Head(), "a", 1, "zwei", {"three": [3]}, None)
        head = await journal.append("a", lease.epoch, lease.head, records[:2])
        head = await journal.append("a", lease.epoch, head, records[2:])
        assert head == Head(seq=4, hash=records[3].hash)
        assert await journal.read("a") == records
        for after in range(6):
            assert await journal.read("a", after) == records[after:]
            assert await journal.read("a", after, limit=2) == records[after : after + 2]

    async def test_many_records_are_in_the_order_of_their_numbers(self, journal: Journal) -> None:
        """They are sorted by number, not by text or commit size; every body is plain bytes."""
        lease = await journal.acquire("a")
        records = records_after(Head(), "a", *range(120))
        head = Head()
        for first, last in ((0, 1), (1, 9), (9, 10), (10, 100), (100, 120)):
            head = await journal.append("a", lease.epoch, head, records[first:last])
        found = await journal.read("a")
        assert found == records
        assert {type(record.body) for record in found} == {bytes}
        assert await journal.read("a", 9, limit=3) == records[9:12]
        assert await journal.read("a", 99) == records[99:]

    async def test_unknown_run_is_empty(self, journal: Journal) -> None:
        """Reading a run that was never acquired is not an error and does not create it."""
        assert await journal.read("nobody") == []
        assert await journal.runs() == []

    async def test_runs_are_listed_oldest_first(self, journal: Journal) -> None:
        """They are sorted by creation, not by name or last append."""
        for run in ("m", "z", "a"):
            await journal.acquire(run)
        lease = await journal.acquire("m")
        head = await journal.append("m", lease.epoch, lease.head, records_after(Head(), "m", 1))
        rows = await journal.runs()
        assert [row.run for row in rows] == ["m", "z", "a"]
        assert rows[0].head == head

    async def test_runs_are_listed_page_by_page(self, journal: Journal) -> None:
        """A page has the newest runs before a given one; all pages together have all runs."""
        names = [f"run-{n}" for n in (3, 1, 5, 2, 4)]
        for run in names:
            await journal.acquire(run)
        pages, before = [], None
        while page := [row.run for row in await journal.runs(before, 2)]:
            pages.append(page)
            before = page[0]
        assert pages == [["run-2", "run-4"], ["run-1", "run-5"], ["run-3"]]
        assert [row.run for row in await journal.runs(limit=9)] == names
        assert [row.run for row in await journal.runs("run-5")] == ["run-3", "run-1"]
        assert await journal.runs("nobody", 2) == []

    async def test_runs_are_apart(self, journal: Journal) -> None:
        """The records and the fence of one run are independent of another's."""
        first, second = await journal.acquire("a"), await journal.acquire("b")
        await journal.append("a", first.epoch, Head(), records_after(Head(), "a", 1))
        await journal.append("b", second.epoch, Head(), records_after(Head(), "b", 1, 2))
        assert len(await journal.read("a")) == 1
        assert len(await journal.read("b")) == 2

    async def test_stale_epoch_is_fenced(self, journal: Journal) -> None:
        """A process that lost the run to another can append nothing, at any head."""
        stale = await journal.acquire("a")
        fresh = await journal.acquire("a")
        records = records_after(Head(), "a", 1)
        assert isinstance(await refusal(journal.append("a", stale.epoch, Head(), records)), Fenced)
        head = await journal.append("a", fresh.epoch, Head(), records)
        late = journal.append("a", stale.epoch, head, records_after(head, "a", 2))
        assert isinstance(await refusal(late), Fenced)
        assert await journal.read("a") == records

    async def test_stale_head_is_fenced(self, journal: Journal) -> None:
        """A repeated append is refused, and so is a head with other content."""
        lease = await journal.acquire("a")
        records = records_after(Head(), "a", 1)
        head = await journal.append("a", lease.epoch, Head(), records)
        again = journal.append("a", lease.epoch, Head(), records)
        assert isinstance(await refusal(again), Fenced)
        other = Head(seq=1, hash=digest_of(b"other"))
        elsewhere = journal.append("a", lease.epoch, other, records_after(other, "a", 2))
        assert isinstance(await refusal(elsewhere), Fenced)
        ahead = journal.append("a", lease.epoch + 1, head, records_after(head, "a", 2))
        assert isinstance(await refusal(ahead), Fenced)
        assert await journal.read("a") == records

    async def test_unacquired_run_is_fenced(self, journal: Journal) -> None:
        """A run that was never acquired accepts no appends."""
        append = journal.append("a", 1, Head(), records_after(Head(), "a", 1))
        assert isinstance(await refusal(append), Fenced)
        assert await journal.runs() == []

    async def test_only_one_of_many_appenders_wins(self, journal: Journal) -> None:
        """Of several appends to the same head, one is written and the others are fenced."""
        lease = await journal.acquire("a")
        rivals = [records_after(Head(), "a", f"rival {n}") for n in range(20)]
        refusals = await asyncio.gather(
            *(refusal(journal.append("a", lease.epoch, Head(), rival)) for rival in rivals)
        )
        assert [type(refusal) for refusal in refusals].count(Fenced) == 19
        assert await journal.read("a") == rivals[refusals.index(None)]

    async def test_broken_chains_are_refused(self, journal: Journal) -> None:
        """A caller's mistake writes nothing, not even the valid records before it."""
        lease = await journal.acquire("a")
        good = records_after(Head(), "a", 1, 2, 3)
        forged = Record(run="a", seq=2, hash=good[1].hash, body=good[1].body + b" ")
        mistakes = {
            "gap": [good[0], good[2]],
            "order": [good[1], good[0]],
            "start": good[1:],
            "run": records_after(Head(), "b", 1),
            "record's seq": [Record("a", 2, good[0].hash, good[0].body)],
            "record's run": [Record("b", 1, good[0].hash, good[0].body)],
            "body's run": [Record("a", 1, *_sealed("b", 1, ""))],
            "body's seq": [Record("a", 1, *_sealed("a", 2, ""))],
            "body's longer seq": [Record("a", 1, *_sealed("a", 10, ""))],
            "body's kind of seq": [Record("a", 1, *_sealed("a", True, ""))],
            "body's prev": [good[0], Record("a", 2, *_sealed("a", 2, good[2].hash))],
            "hash": [good[0], forged],
        }
        for mistake, records in mistakes.items():
            error = await refusal(journal.append("a", lease.epoch, Head(), records))
            assert isinstance(error, InvariantError), mistake
        assert await journal.read("a") == []
        assert (await journal.runs())[0].head == Head()

    async def test_appending_nothing_asks_the_fence(self, journal: Journal) -> None:
        """An append without records changes nothing, but it fails for a stale owner."""
        stale = await journal.acquire("a")
        assert await journal.append("a", stale.epoch, Head(), []) == Head()
        await journal.acquire("a")
        assert isinstance(await refusal(journal.append("a", stale.epoch, Head(), [])), Fenced)

    async def test_cancelled_append_is_whole_or_absent(self, journal: Journal) -> None:
        """Cancelling a waiting task leaves a run that can be acquired and continued."""
        for steps in range(1, 8):
            run = f"run-{steps}"
            lease = await journal.acquire(run)
            records = records_after(Head(), run, 1, 2, 3)
            task = asyncio.ensure_future(journal.append(run, lease.epoch, Head(), records))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            after = await journal.acquire(run)
            assert await journal.read(run) in ([], records)
            more = records_after(after.head, run, 4)
            head = await journal.append(run, after.epoch, after.head, more)
            assert head.seq == len(await journal.read(run))

    async def test_any_name_and_any_text(self, journal: Journal) -> None:
        """Names and payloads with quotes, newlines, NULs and any script are kept unchanged."""
        for run in ('quo"te', "new\nline", "nul\0", "läuft 走る 🏃", "'; DROP TABLE runs; --"):
            lease = await journal.acquire(run)
            records = records_after(Head(), run, run, '"seq":1,"prev":""}')
            await journal.append(run, lease.epoch, Head(), records)
            assert await journal.read(run) == records

    async def test_names_that_begin_alike_are_apart(self, journal: Journal) -> None:
        """Names with a common prefix stay separate, whatever separator a journal uses."""
        names = ("a", "a1", "a/1", "a:1", "a\0", "A", "a ")
        for run in names:
            lease = await journal.acquire(run)
            await journal.append(run, lease.epoch, Head(), records_after(Head(), run, run, 2))
        for run in names:
            assert await journal.read(run) == records_after(Head(), run, run, 2)
        assert [row.run for row in await journal.runs()] == [*names]

    async def test_names_that_are_no_text(self, journal: Journal) -> None:
        """A name with a lone surrogate is refused, and the journal stays usable."""
        for attempt in (journal.acquire("\udcff"), journal.read("\udcff")):
            assert isinstance(await refusal(attempt), CanonicalError)
        assert (await journal.acquire("a")).head == Head()


def _sealed(run: str, seq: int, prev: str) -> tuple[str, bytes]:
    body = canonical({"run": run, "seq": seq, "prev": prev, "payload": None})
    return digest_of(body), body
