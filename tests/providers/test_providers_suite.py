"""Every provider of ours behaves as the port says, and the suite notices those that do not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from provider_kit import KEY, PROVIDERS, QUICK
from strict_rules import Protocol
from strict_server import Says, StrictServer

from artificer.contracts.definition import ModelRequest
from artificer.ports import Memo, PreparedRequest, Provider
from artificer.providers.chain import ProviderChain
from artificer.providers.recorded import RecordedProvider
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.testing.provider_suite import (
    CONVERSATION,
    ProviderSuite,
    SilentProviderSuite,
    digest,
    prepared,
)
from artificer.values.blocks import Message, TextBlock
from artificer.values.model import ArgumentsDelta, Delta, ModelFailure, ModelReply, TextDelta
from suite_faults import faults

pytestmark = pytest.mark.req("suite-provider")

GONE = ModelFailure(code="unavailable", message="Nobody is there.")


def good(_: object = None) -> ScriptedProvider:
    return ScriptedProvider(lambda body: "Hello.")


def gone() -> ScriptedProvider:
    return ScriptedProvider(lambda body: GONE)


class TestWires(ProviderSuite):
    """The three wire formats, with the official SDKs, against a strict server."""

    @pytest.fixture(params=["chat", "messages", "responses"])
    def protocol(self, request: pytest.FixtureRequest) -> Protocol:
        found: Protocol = request.param
        return found

    @pytest.fixture
    async def provider(self, protocol: Protocol) -> AsyncIterator[Provider]:
        async with StrictServer(answer=lambda body: Says("Hello.")) as server:
            provider = PROVIDERS[protocol](base_url=server.url, api_key=KEY, limits=QUICK)
            yield provider
            await provider.aclose()

    @pytest.fixture
    def unreachable(self, protocol: Protocol) -> Provider:
        limits = replace(QUICK, first_delay=0.01, max_delay=0.01)
        return PROVIDERS[protocol](base_url="http://127.0.0.1:1", api_key=KEY, limits=limits)


class TestScripted(ProviderSuite):
    @pytest.fixture
    def provider(self) -> Provider:
        return good()

    @pytest.fixture
    def unreachable(self) -> Provider:
        return gone()


class TestRecorded(ProviderSuite):
    @pytest.fixture
    def provider(self) -> Provider:
        asked = digest(prepared(good(), CONVERSATION[:1]))
        return RecordedProvider(good(), {asked: say("Hello.")})

    @pytest.fixture
    def unreachable(self) -> Provider:
        return RecordedProvider(good(), {})


class TestChain(ProviderSuite):
    @pytest.fixture
    def provider(self) -> Provider:
        return ProviderChain([good(), gone()])

    @pytest.fixture
    def unreachable(self) -> Provider:
        return ProviderChain([gone(), good()])


class Slashed(ScriptedProvider):
    @property
    def name(self) -> str:
        return "my/models"


class Timed(ScriptedProvider):
    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        sent = super().prepare(request, messages, memo)
        return PreparedRequest({**sent.fields, "at": time.time_ns()}, sent.key, sent.items)


class Forgetful(ScriptedProvider):
    """It drops the system text."""

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        return super().prepare(request.replace(system=""), messages, memo)


class Short(ScriptedProvider):
    """It sends the last messages only."""

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        return super().prepare(request, messages[-2:], memo)


class OneModel(ScriptedProvider):
    """It sends the same model's name whatever is asked for."""

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        return super().prepare(request.replace(model="m"), messages, memo)


class OneMemo(ScriptedProvider):
    """It shares one memory between all runs, and believes it."""

    def __init__(self, script: Any) -> None:
        super().__init__(script)
        self.items: list[Any] = []

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        sent = super().prepare(request, messages, Memo())
        self.items += sent.items[len(self.items) :]
        return PreparedRequest(sent.fields, sent.key, [*self.items])


class Changing(ScriptedProvider):
    """It drops messages from the list of the run itself."""

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        sent = super().prepare(request, messages, memo)
        if isinstance(messages, list):
            messages.clear()
        return sent


class Raising(ScriptedProvider):
    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply:
        raise ConnectionError("refused")


class Babbling(ScriptedProvider):
    """It streams something else than it replies."""

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply:
        on_delta(TextDelta(text="Good morn"))
        return say("Good evening.")


class Late(ScriptedProvider):
    """It streams on after it has replied."""

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply:
        asyncio.get_running_loop().call_soon(on_delta, TextDelta(text="Hello."))
        return say("Hello.")


class Slow(ScriptedProvider):
    """It streams on while the next request is answered."""

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply:
        for _ in range(9):
            await asyncio.sleep(0)

        async def stream_on() -> None:
            for _ in range(5):
                await asyncio.sleep(0)
            on_delta(TextDelta(text="Hello."))

        self.late = asyncio.ensure_future(stream_on())
        return say("Hello.")


class OtherCall(ScriptedProvider):
    """It streams other arguments than its reply has."""

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply:
        on_delta(ArgumentsDelta(index=0, name="weather", text='{"city":"Rome"}'))
        return reply(call("weather", city="Oslo"))


class Empty(ScriptedProvider):
    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply:
        return ModelReply(blocks=(TextBlock(text=""),)[:0], stop="end_turn")


class Deaf(ScriptedProvider):
    """It goes on after it was cancelled."""

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply:
        for _ in range(100):
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                continue
        return say("Hello.")


class ClosedOnce(ScriptedProvider):
    closed = False

    async def aclose(self) -> None:
        assert not self.closed
        self.closed = True


@pytest.mark.parametrize(
    ("wrong", "noticed_by"),
    [
        (Slashed, "test_its_name_is_the_word_before_the_slash"),
        (Timed, "test_the_same_request_has_the_same_digest"),
        (Forgetful, "test_nothing_of_a_conversation_is_lost"),
        (Short, "test_nothing_of_a_conversation_is_lost"),
        (OneModel, "test_another_request_has_another_digest"),
        (OneMemo, "test_a_growing_conversation_is_mapped_as_a_whole_one"),
        (Changing, "test_mapping_changes_none_of_its_arguments"),
        (Babbling, "test_a_reply_is_complete"),
        (Late, "test_a_reply_is_complete"),
        (Slow, "test_a_reply_is_complete"),
        (OtherCall, "test_a_reply_is_complete"),
        (Empty, "test_a_reply_is_complete"),
        (Deaf, "test_a_cancelled_request_ends"),
        (ClosedOnce, "test_closing_twice_is_closing_once"),
    ],
)
async def test_a_wrong_provider_is_noticed(wrong: Any, noticed_by: str) -> None:
    found = await faults(
        ProviderSuite, noticed_by, provider=lambda: wrong(lambda body: "Hello."), unreachable=gone
    )
    assert found == {noticed_by}


async def test_one_that_raises_is_noticed() -> None:
    found = await faults(ProviderSuite, provider=good, unreachable=lambda: Raising([]))
    assert found == {"test_a_failure_is_a_value"}


async def test_a_failure_of_an_unknown_kind_is_noticed() -> None:
    teapot = ModelFailure(code="teapot", message="Short and stout.")  # type: ignore[arg-type]
    found = await faults(
        ProviderSuite, provider=good, unreachable=lambda: ScriptedProvider(lambda body: teapot)
    )
    assert found == {"test_a_failure_is_a_value"}


class SilentServer:
    """Takes requests and says nothing."""

    def __init__(self) -> None:
        self.held: set[asyncio.StreamWriter] = set()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.held.add(writer)
        try:
            while await reader.read(4096):
                pass
        except ConnectionError:
            pass
        finally:
            self.held.discard(writer)
            writer.close()


@pytest.fixture
async def silent_server() -> AsyncIterator[tuple[SilentServer, str]]:
    silent = SilentServer()
    async with await asyncio.start_server(silent.take, "127.0.0.1", 0) as server:
        yield silent, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


class TestSilentWires(SilentProviderSuite):
    """The three wire formats."""

    @pytest.fixture(params=["chat", "messages", "responses"])
    def silent(
        self, request: pytest.FixtureRequest, silent_server: tuple[SilentServer, str]
    ) -> Provider:
        return PROVIDERS[request.param](base_url=silent_server[1], api_key=KEY, limits=QUICK)

    @pytest.fixture
    def held_open(self, silent_server: tuple[SilentServer, str]) -> Callable[[], int]:
        return lambda: len(silent_server[0].held)


class Leaking(ScriptedProvider):
    """It leaves its connection open when its request is cancelled."""

    def __init__(self, url: str) -> None:
        super().__init__([])
        self.port = int(url.rpartition(":")[2])
        self.open: list[asyncio.StreamWriter] = []

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.open.append(writer)
        await reader.read()
        return say("Hello.")

    async def aclose(self) -> None:
        for writer in self.open:
            writer.close()


async def test_a_request_that_stays_open_is_noticed(
    silent_server: tuple[SilentServer, str],
) -> None:
    server, url = silent_server
    leaking = Leaking(url)
    found = await faults(
        SilentProviderSuite, silent=lambda: leaking, held_open=lambda: lambda: len(server.held)
    )
    await leaking.aclose()
    assert found == {"test_a_cancelled_request_is_closed"}
