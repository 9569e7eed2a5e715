"""A replay checks many records at a time, and names the first that does not follow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from artificer.core.events import CallsJudged
from artificer.core.record import EventLine, Line, decode, encode
from artificer.errors import OperatorError
from artificer.ports import Call, Head, Provider, Record
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.proving import replay as replaying
from artificer.runtime.proving.replay import Replay, replay
from artificer.storage.blobs.memory import MemoryStore
from artificer.storage.memory import MemoryJournal
from artificer.testing.rig import Rig
from artificer.values.canon import digest_of
from wrapped_journal import Saying

OTHER = "sha256:" + "0" * 64


async def count(made: Call) -> str:
    return f"This is call {made.id}."


async def recorded(turns: int) -> tuple[Rig, list[Line]]:
    """Record a run of several turns; return it with its lines."""
    rig = Rig()
    rig.tools.add("count", count, effect="once")
    await rig.run([*[reply(call("count"))] * turns, say("Done.")])
    return rig, [decode(r.body, rig.blobs.get) for r in await rig.journal.read("run")]


def falsified(line: Line) -> Iterator[Line]:
    """Yield a record with other contents that nothing but a replay can check."""
    if isinstance(line, EventLine):
        yield line.replace(state=OTHER)
        if line.outputs is not None:
            yield line.replace(outputs=line.outputs.replace(items=OTHER))
        yield line.replace(event=line.event.replace(at=line.event.at + 1))
        if "intent" in line.event.field_names():
            yield line.replace(event=line.event.replace(intent=1_000))
    else:
        yield line.replace(digest=OTHER)
        yield line.replace(intent=line.intent.replace(n=1_000))
        if line.request is not None:
            yield line.replace(request=OTHER)


async def chained(rig: Rig, lines: list[Line], damaged: int | None = None) -> MemoryJournal:
    """Return a journal in which every hash fits, but for the bytes of one record."""
    journal, head, records = MemoryJournal(), Head(), []
    for line in lines:
        body, blobs = encode(line.replace(prev=head.hash))
        for blob in blobs:
            rig.blobs.put(blob)
        records.append(Record("run", line.seq, digest_of(body), body))
        head = Head(seq=line.seq, hash=records[-1].hash)
    await journal.append("run", (await journal.acquire("run")).epoch, Head(), records)
    if damaged is None:
        return journal
    broken = Record("run", damaged, records[damaged - 1].hash, b"{}")
    return Saying([*records[: damaged - 1], broken, *records[damaged:]])


async def replayed(rig: Rig, journal: MemoryJournal, provider: Provider | None = None) -> Replay:
    return await replay(journal, rig.blobs, "run", provider or ScriptedProvider([]))


@pytest.mark.req("tamper-shows")
class TestOrder:
    async def test_the_first_of_two_false_records_is_named_whatever_is_false(self) -> None:
        rig, lines = await recorded(1)
        alone = {}
        for line in lines:
            for number, false in enumerate(falsified(line)):
                changed = [*lines[: line.seq - 1], false, *lines[line.seq :]]
                found = await replayed(rig, await chained(rig, changed))
                assert found.divergence is not None
                assert found.divergence.seq == line.seq
                assert found.events + found.intents == line.seq - 1
                alone[line.seq, number] = (false, found)
        assert len(alone) > 25
        for (first, _), (false, found) in alone.items():
            for (second, _), (other, _) in alone.items():
                if second > first:
                    changed = list(lines)
                    changed[first - 1], changed[second - 1] = false, other
                    assert await replayed(rig, await chained(rig, changed)) == found
            after = [*lines[: first - 1], false, *lines[first:]]
            for damaged in range(first + 1, len(lines) + 1):
                assert await replayed(rig, await chained(rig, after, damaged)) == found

    @pytest.mark.parametrize("at_once", [1, 2, 5, 7])
    async def test_it_does_not_depend_on_how_many_are_checked_at_a_time(
        self, at_once: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rig, lines = await recorded(12)
        journals = [await chained(rig, lines), await chained(rig, lines[:-3])]
        journals += [await chained(rig, lines, damaged) for damaged in (1, 6, 7, len(lines))]
        for line in lines[::3]:
            for false in falsified(line):
                changed = [*lines[: line.seq - 1], false, *lines[line.seq :]]
                journals.append(await chained(rig, changed))
        usual = [await replayed(rig, journal) for journal in journals]
        assert usual[0].identical and not usual[0].drift and len(lines) > replaying.AT_ONCE
        assert [one.identical for one in usual[1:]] == [False] * len(usual[1:])
        monkeypatch.setattr(replaying, "AT_ONCE", at_once)
        assert [await replayed(rig, journal) for journal in journals] == usual

    async def test_what_a_provider_raises_is_the_divergence_of_its_request(self) -> None:
        class Fails(ScriptedProvider):
            def prepare(self, *given: object) -> object:  # type: ignore[override]
                raise OperatorError("No such model.")

        rig, lines = await recorded(2)
        found = await replayed(rig, rig.journal, Fails([]))
        assert found.divergence is not None
        assert (found.divergence.seq, found.divergence.actual) == (2, "No such model.")
        assert (found.events, found.intents, found.requests) == (1, 0, 0)
        assert lines[1].seq == 2

    async def test_what_was_compared_on_the_record_that_diverges_is_named(self) -> None:
        """Of a verdict that was changed, this says what was changed."""
        rig, lines = await recorded(2)
        place = next(n for n, line in enumerate(lines) if is_judged(line))
        judged = lines[place]
        assert isinstance(judged, EventLine) and isinstance(judged.event, CallsJudged)
        (verdict,) = judged.event.verdicts
        denied = verdict.replace(verdict="denied", content="No.")
        lines[place] = judged.replace(event=judged.event.replace(verdicts=(denied,)))
        found = await replayed(rig, await chained(rig, lines))
        assert found.divergence is not None and found.divergence.seq == judged.seq
        assert found.drift == [
            f"CallsJudged (intent 2); call {verdict.call_id}: recorded denied, now allow"
        ]

    async def test_an_error_of_the_storage_comes_after_what_stands_before_it(self) -> None:
        class Breaks(MemoryStore):
            def get(self, digest: str) -> bytes:
                raise OSError("The cable is out.")

        rig = Rig()
        await rig.run([say("x" * 20_000)])
        lines = [decode(r.body, rig.blobs.get) for r in await rig.journal.read("run")]
        with pytest.raises(OSError, match="cable"):
            await replay(await chained(rig, lines), Breaks(), "run", ScriptedProvider([]))
        lines[0] = lines[0].replace(state=OTHER)
        found = await replay(await chained(rig, lines), Breaks(), "run", ScriptedProvider([]))
        assert found.divergence is not None and found.divergence.seq == 1


def is_judged(line: Line) -> bool:
    return isinstance(line, EventLine) and isinstance(line.event, CallsJudged)
