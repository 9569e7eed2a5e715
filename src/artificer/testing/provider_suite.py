"""Conformance tests for providers, to run with your own.

Subclass `ProviderSuite` in a test module and give it two pytest fixtures:

    class TestMine(ProviderSuite):
        @pytest.fixture
        def provider(self, server):  # answers every request with some text
            return Mine(url=server.url)

        @pytest.fixture
        def unreachable(self):  # a provider whose model cannot be reached
            return Mine(url="http://127.0.0.1:1")

If you can count the requests that a server of yours holds open, subclass `SilentProviderSuite` too.
The tests are coroutines: pytest-asyncio runs them in its ``auto`` mode.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from artificer.contracts.definition import ModelRequest, ToolDefinition
from artificer.ports import Memo, PreparedRequest, Provider
from artificer.values.blocks import (
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    user,
)
from artificer.values.canon import ListDigest, canonical
from artificer.values.model import (
    ArgumentsDelta,
    Delta,
    ModelFailure,
    ModelReply,
    RetryDelta,
    TextDelta,
    ToolChoice,
)

_TOOL = ToolDefinition(
    name="weather",
    description="Return marked-description.",
    input_schema={
        "type": "object",
        "properties": {"city": {"type": "string", "description": "marked-parameter"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    effect="pure",
)

CONVERSATION: tuple[Message, ...] = (
    user("marked-prompt"),
    Message(
        role="assistant",
        blocks=(
            TextBlock(text="marked-reply"),
            ToolUseBlock(id="call_1", name="weather", arguments='{"city":"marked-argument"}'),
            ToolUseBlock(id="call_2", name="weather", arguments='{"city":"marked-second"}'),
        ),
    ),
    Message(
        role="user",
        blocks=(
            ToolResultBlock(tool_use_id="call_1", status="ok", content="marked-result"),
            ToolResultBlock(tool_use_id="call_2", status="error", content="marked-error"),
        ),
    ),
    Message(role="assistant", blocks=(TextBlock(text="marked-answer"),)),
    user("marked-follow-up"),
)
"""A conversation with everything that a provider of text models maps."""

_MARKS = (
    *("prompt", "reply", "argument", "second", "result", "error", "answer", "follow-up"),
    *("system", "description", "parameter"),
)


def request(**changes: object) -> ModelRequest:
    """Return a request; ``changes`` replace members of it."""
    whole: dict[str, object] = {
        "model": "m",
        "system": "marked-system",
        "tools": (_TOOL,),
        "tool_choice": ToolChoice(),
        "max_tokens": 200,
    }
    return ModelRequest.from_json({**whole, **changes})


def digest(sent: PreparedRequest) -> str:
    """Return the digest of a request, as a run records it."""
    return ListDigest().digest(sent.fields, sent.key, sent.items)


def prepared(
    provider: Provider,
    messages: Sequence[Message] = CONVERSATION,
    memo: Memo | None = None,
    **changes: object,
) -> PreparedRequest:
    """Return a request in the provider's form."""
    return provider.prepare(request(**changes), messages, memo or Memo())


def _counted(pieces: Sequence[Delta]) -> list[Delta]:
    """Return the pieces that count: those after the last failed attempt."""
    retries = [n for n, piece in enumerate(pieces, 1) if isinstance(piece, RetryDelta)]
    return list(pieces[retries[-1] if retries else 0 :])


def _streamed_calls(pieces: Sequence[Delta]) -> list[tuple[int, str, str]]:
    """Return the index, name and arguments of each call that was streamed in pieces."""
    found: dict[int, tuple[str, str]] = {}
    for piece in pieces:
        if isinstance(piece, ArgumentsDelta):
            name, text = found.get(piece.index, (piece.name, ""))
            found[piece.index] = name or piece.name, text + piece.text
    return [(index, *call) for index, call in found.items()]


class ProviderSuite:
    """The behavior of the `Provider` port: fixtures ``provider`` and ``unreachable``."""

    patience_s: float = 30
    """Seconds within which a test's model has answered, even on a busy machine."""

    def test_its_name_is_the_word_before_the_slash(self, provider: Provider) -> None:
        """``provider/model`` and journals refer to the provider by this name."""
        assert provider.name and "/" not in provider.name and provider.name.strip()
        assert provider.name == provider.name

    def test_nothing_of_a_conversation_is_lost(self, provider: Provider) -> None:
        """System text, tools, calls with their arguments, results and texts are all sent."""
        sent = canonical(prepared(provider).body).decode()
        assert [mark for mark in _MARKS if f"marked-{mark}" not in sent] == []

    def test_the_same_request_has_the_same_digest(self, provider: Provider) -> None:
        """It contains no time, no random id and nothing from this process."""
        assert digest(prepared(provider)) == digest(prepared(provider))

    def test_another_request_has_another_digest(self, provider: Provider) -> None:
        """The model, the system text, the tools and each message are part of it."""
        shorter = (*CONVERSATION[:-1], user("marked-otherwise"))
        others = [
            prepared(provider, model="other"),
            prepared(provider, system="Otherwise."),
            prepared(provider, tools=()),
            prepared(provider, max_tokens=201),
            prepared(provider, shorter),
        ]
        digests = [digest(sent) for sent in (prepared(provider), *others)]
        assert len(set(digests)) == len(digests)

    def test_a_growing_conversation_is_mapped_as_a_whole_one(self, provider: Provider) -> None:
        """A run's memo saves work but changes no result, and neither does another run's."""
        memo, elsewhere, other = Memo(), Memo(), (user("Another run."),)
        others = {digest(prepared(provider, other, elsewhere))}
        for length in (1, 3, 5):
            messages = CONVERSATION[:length]
            grown = digest(prepared(provider, messages, memo))
            assert grown == digest(prepared(provider, messages))
            others.add(digest(prepared(provider, other, elsewhere)))
            assert len(others) == 1
            assert grown not in others

    def test_mapping_changes_none_of_its_arguments(self, provider: Provider) -> None:
        """The run still needs its arguments exactly as recorded."""
        messages = [*CONVERSATION]
        before = [message.canonical() for message in messages]
        prepared(provider, messages)
        assert [message.canonical() for message in messages] == before

    async def test_a_reply_is_complete(self, provider: Provider) -> None:
        """The streamed pieces, if any, add up to its text, and none comes later."""
        pieces: list[Delta] = []
        answer = await self._generated(provider, pieces.append)
        assert isinstance(answer, ModelReply), answer
        assert ModelReply.read(answer.canonical()) == answer
        texts = [block.text for block in answer.blocks if isinstance(block, TextBlock)]
        counted = _counted(pieces)
        streamed = "".join(piece.text for piece in counted if isinstance(piece, TextDelta))
        assert streamed in ("", "".join(texts))
        calls = [block for block in answer.blocks if isinstance(block, ToolUseBlock)]
        for index, name, arguments in _streamed_calls(counted):
            assert index < len(calls), "more calls were streamed than the reply has"
            assert (name, arguments) == (calls[index].name, calls[index].arguments)
        assert not calls or answer.stop == "tool_use"
        assert texts or calls, "the reply is empty"
        count = len(pieces)
        await asyncio.sleep(0)
        await self._generated(provider)
        assert len(pieces) == count, "a piece came after its reply"

    async def test_runs_share_it(self, provider: Provider) -> None:
        """Requests of several runs are answered in parallel."""
        answers = await asyncio.gather(*(self._generated(provider) for _ in range(3)))
        assert [type(answer) for answer in answers] == [ModelReply] * 3

    async def test_a_failure_is_a_value(self, unreachable: Provider) -> None:
        """It says what happened; an exception would end the run without a reason."""
        answer = await self._generated(unreachable)
        assert isinstance(answer, ModelFailure), answer
        assert answer.message.strip()
        assert ModelFailure.read(answer.canonical()) == answer, "its code is not a FailureCode"
        await unreachable.aclose()

    async def test_a_cancelled_request_ends(self, provider: Provider) -> None:
        """A cancelled request ends, and the next request is answered."""
        sent = prepared(provider, CONVERSATION[:1])
        task = asyncio.ensure_future(provider.generate(sent, lambda _: None))
        await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=self.patience_s)
        assert done, "the request goes on after it was cancelled"
        assert isinstance(await self._generated(provider), ModelReply)

    async def test_closing_twice_is_closing_once(self, provider: Provider) -> None:
        """Closing twice is safe, even if no request was ever sent."""
        await provider.aclose()
        await provider.aclose()

    async def _generated(
        self, provider: Provider, on_delta: Callable[[Delta], None] = lambda _: None
    ) -> ModelReply | ModelFailure:
        sent = prepared(provider, CONVERSATION[:1])
        async with asyncio.timeout(self.patience_s):
            return await provider.generate(sent, on_delta)


class SilentProviderSuite:
    """The behavior of a provider whose server accepts a request and does not answer.

    Fixtures: ``silent``, the provider, and ``held_open``, a function that returns how many requests
    the server holds open at the moment.
    """

    patience_s: float = 30
    """Seconds within which a request has started or ended, even on a busy machine."""

    async def test_a_cancelled_request_is_closed(
        self, silent: Provider, held_open: Callable[[], int]
    ) -> None:
        """The server must not keep writing a reply that costs money and that no one reads."""
        sent = prepared(silent, CONVERSATION[:1])
        tasks = [asyncio.ensure_future(silent.generate(sent, lambda _: None)) for _ in range(2)]
        await self._until(lambda: held_open() == 2, "the requests do not arrive")
        tasks[0].cancel()
        await self._until(lambda: held_open() == 1, "a cancelled request stays open")
        tasks[1].cancel()
        await self._until(lambda: held_open() == 0, "a cancelled request stays open")
        done, _ = await asyncio.wait(tasks, timeout=self.patience_s)
        assert len(done) == 2, "a request goes on after it was cancelled"
        await silent.aclose()

    async def _until(self, reached: Callable[[], bool], otherwise: str) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self.patience_s
        while not reached():
            assert loop.time() < ends, otherwise
            await asyncio.sleep(0.01)
