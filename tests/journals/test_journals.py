"""Recorded runs replay byte for byte in every build, and a changed byte does not go unseen."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, get_args

import pytest

from artificer.core import events as ev
from artificer.core.record import EventLine, IntentLine
from artificer.errors import ArtificerError
from artificer.ports import Call, Provider
from artificer.providers.anthropic import Anthropic
from artificer.providers.caller import CallerProvider
from artificer.providers.chain import ProviderChain
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.openai_responses import OpenAIResponses
from artificer.providers.recorded import RecordedProvider
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.recordings.answers import ModelOutcome, answer_of
from artificer.recordings.export import export
from artificer.recordings.recording import check, read_recording
from artificer.runtime.load import load
from artificer.runtime.proving.replay import replay
from artificer.runtime.proving.verify import verify
from artificer.testing.rig import Rig, unpaired
from artificer.values.model import ModelFailure, ModelReply

FILES = sorted(Path(__file__).parent.glob("*.jsonl"))
NAMES = [file.stem for file in FILES]
PROVIDERS: dict[str, Provider] = {
    p.name: p for p in (Anthropic(), OpenAIResponses(), OpenAIChat(), ScriptedProvider([]))
}
PROVIDERS["guarded"] = CallerProvider(attached=False)
PROVIDERS["fallback"] = ProviderChain([Anthropic(), OpenAIChat(), OpenAIChat()])


def content(file: Path) -> bytes:
    return file.read_bytes()


def provider_of(file: Path) -> Provider:
    return PROVIDERS.get(file.stem.removeprefix("attachments-"), PROVIDERS["scripted"])


@pytest.mark.req("journals-replay")
class TestRecordedRuns:
    @pytest.mark.parametrize("file", FILES, ids=NAMES)
    async def test_replays_byte_for_byte(self, file: Path) -> None:
        """When this fails before the first release: python tests/journals/record.py"""
        recording = await read_recording(content(file))
        assert await check(recording, provider_of(file)) == []
        found = await replay(recording.journal, recording.blobs, recording.run, provider_of(file))
        assert found.identical and found.requests_unchecked == 0
        assert found.requests >= (0 if file.stem == "build" else 1), "a build asks no model itself"
        assert found.digest == recording.state
        assert (await verify(recording.journal, recording.blobs)).problems == []
        loaded = await load(recording.journal, recording.blobs, recording.run)
        assert unpaired(loaded.state.history) == []

    @pytest.mark.parametrize("file", FILES, ids=NAMES)
    async def test_not_with_a_byte_changed(self, file: Path) -> None:
        """Bytes all over the file, chosen anew in the same way every time."""
        data = content(file)
        choice = random.Random(file.stem)
        places = {0, 13, len(data) - 1, *(choice.randrange(len(data)) for _ in range(25))}
        for place in sorted(places):
            changed = bytearray(data)
            changed[place] ^= choice.choice((1, 2, 4, 32))
            assert await faults(bytes(changed), provider_of(file)), f"byte {place}"

    @pytest.mark.parametrize("file", FILES, ids=NAMES)
    async def test_not_with_a_line_less(self, file: Path) -> None:
        lines = content(file).splitlines(keepends=True)
        for index in range(0, len(lines), max(1, len(lines) // 10)):
            assert await faults(b"".join(lines[:index] + lines[index + 1 :]), provider_of(file))

    async def test_between_them_they_hold_every_event_and_every_status(self) -> None:
        events, statuses = set[str](), set[str]()
        for file in FILES:
            recording = await read_recording(content(file))
            loaded = await load(recording.journal, recording.blobs, recording.run)
            for line in loaded.lines:
                if isinstance(line, EventLine):
                    events.add(line.event.type)
                    if isinstance(line.event, ev.CallsJudged):
                        statuses |= {verdict.verdict for verdict in line.event.verdicts}
                    if isinstance(line.event, ev.ToolReturned):
                        statuses.add(line.event.status)
        assert events == {event.__name__ for event in get_args(ev.Event)}
        assert statuses >= {"ok", "error", "ambiguous", "allow", "ask", "denied", "invalid"}
        assert statuses >= {"unknown_tool", "duplicate"}


async def faults(data: bytes, provider: Provider) -> list[str]:
    try:
        return await check(await read_recording(data), provider)
    except ArtificerError as error:
        return [error.message]


@pytest.mark.req("recording")
class TestRecordings:
    async def recorded(self) -> Rig:
        rig = Rig()

        async def answer(call: Call) -> str:
            return "x" * 5_000

        rig.tools.add("answer", answer)
        await rig.run([reply(call("answer", n=1)), reply(call("answer", n=2)), say("Done.")])
        return rig

    async def test_what_is_read_is_what_was_written(self) -> None:
        rig = await self.recorded()
        data = await export(rig.journal, rig.blobs, "run")
        recording = await read_recording(data)
        assert await recording.journal.read("run") == await rig.journal.read("run")
        assert await check(recording, ScriptedProvider([])) == []
        assert await export(recording.journal, recording.blobs, "run") == data

    async def recorded_from(self, rig: Rig) -> RecordedProvider:
        """Return a provider that answers each request as it was answered in the run."""
        requests, answers = dict[int, str](), dict[str, ModelReply | ModelFailure]()
        for line in (await load(rig.journal, rig.blobs, "run")).lines:
            if isinstance(line, IntentLine) and line.request:
                requests[line.intent.n] = line.request
            elif isinstance(line, EventLine) and isinstance(line.event, ModelOutcome):
                answers[requests[line.event.intent]] = answer_of(line.event, rig.blobs)
        return RecordedProvider(ScriptedProvider([]), answers)

    async def test_a_journal_answers_in_the_place_of_its_provider(self) -> None:
        rig = await self.recorded()
        (first,) = [e for e in await rig.events() if isinstance(e, ev.RunFinished)]
        provider = await self.recorded_from(rig)
        again = await rig.run(provider, run="again")
        assert again.deliverable == first.deliverable
        found = await rig.replay(run="again")
        assert found.identical and found.requests == 3

    async def test_a_request_that_was_never_recorded_is_a_failure(self) -> None:
        rig = await self.recorded()
        provider = await self.recorded_from(rig)
        other = await rig.run(provider, run="other", prompt="Something else.")
        assert (other.status, other.reason) == ("failed", "model_failed")

    async def test_a_replay_with_another_provider_says_so(self) -> None:
        rig = await self.recorded()
        found = await replay(rig.journal, rig.blobs, "run", OpenAIChat())
        assert found.divergence is not None and "request" in found.divergence.what

    async def test_without_a_provider_requests_are_counted_as_unchecked(self) -> None:
        rig = await self.recorded()
        found = await replay(rig.journal, rig.blobs, "run", None)
        assert (found.identical, found.requests, found.requests_unchecked) == (True, 0, 3)

    @pytest.mark.parametrize(
        "data", [b"", b"\n", b"{}\n", b"[]\n", b"\xff", b'{"cassette":2,"run":"a","state":""}\n']
    )
    async def test_a_file_that_is_not_a_recording_is_refused(self, data: bytes) -> None:
        with pytest.raises(ArtificerError, match="not a recording"):
            await read_recording(data)

    async def test_the_check_names_what_is_wrong(self) -> None:
        rig = await self.recorded()
        recording: Any = await read_recording(await export(rig.journal, rig.blobs, "run"))
        assert await check(recording, OpenAIChat()) != []
