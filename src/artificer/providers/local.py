"""The embedded model: a real language model on the user's own machine, without key or network.

It shows the machinery, not intelligence. The model file is SmolLM2-135M-Instruct (see
``local_fetch``) or any GGUF that llama.cpp reads; the server is a child process
(``local_process``), spoken to in Chat Completions without an SDK. What differs from a capable
model behind the same protocol is in ``prepare``: tools are narrowed (``local_offer``), a demanded
call is demanded by grammar, and a reply holds one call.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from artificer.contracts.definition import ModelRequest
from artificer.ports import Memo, Payload
from artificer.providers.attempts import Limits, generate_with_attempts
from artificer.providers.chat_wire import ChatDialect, ChatStream, to_payload
from artificer.providers.local_fetch import model_path
from artificer.providers.local_http import post_events
from artificer.providers.local_offer import narrowed, offered
from artificer.providers.local_process import LocalServer
from artificer.providers.local_text import closing_grammar
from artificer.providers.registry import ProviderKind, ProviderPlace
from artificer.values.base import JsonObject
from artificer.values.blocks import Message
from artificer.values.model import Delta, ModelFailure, ModelReply, ToolChoice

MAX_TOKENS = 512
"""Longest reply, whatever the request says: some 10 seconds, and the most a runaway can cost."""

LIMITS = Limits(attempts=3, first_delay=0.2)
"""A second attempt, for a connection that died; the server is replaced if it died with it. A third
after a pause, for a killed server refuses connections a moment before it is seen to be gone."""

_SAMPLING: JsonObject = {
    # Greedy, so that the same conversation gets the same reply. The server's prompt cache breaks
    # that (another batch size rounds otherwise) and would save a second or two of each turn.
    "temperature": 0.0,
    "seed": 1,
    "cache_prompt": False,
    # Without a slight penalty a model of this size repeats its first item to the end of the list.
    # A stronger one (1.1), or one that reaches back into the prompt, alters what it should copy.
    "repeat_penalty": 1.05,
    "repeat_last_n": 64,
}


class Local:
    """A provider for one GGUF file. The server starts with the first request.

    Raises nothing when it is made; ``require`` says early what ``generate`` would miss.
    """

    def __init__(
        self,
        model: Path,
        *,
        name: str = "local",
        max_tokens: int = MAX_TOKENS,
        limits: Limits = LIMITS,
        server: LocalServer | None = None,
    ) -> None:
        self._name = name
        self._max_tokens = max_tokens
        self._limits = limits
        self._server = server or LocalServer(model)

    @property
    def name(self) -> str:
        """The word before the slash in a model's name."""
        return self._name

    def require(self) -> None:
        """Check that the server could start. Raises MissingExtraError or NotFoundError."""
        self._server.require()

    def prepare(self, request: ModelRequest, messages: Sequence[Message], memo: Memo) -> Payload:
        """Map a request. Pure."""
        narrow = _narrowed(request, self._max_tokens)
        asked = narrow.response_format
        grammar = None if narrow.tools or asked else closing_grammar(messages)
        # llama.cpp holds a reply to tools or to a schema, never to either of them.
        held = asked is not None and not narrow.tools
        dialect = ChatDialect(self._name, formats=held, extra=_extra(narrow.tool_choice, grammar))
        return to_payload(narrow, messages, memo, dialect)

    async def generate(
        self, payload: Payload, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Ask the model. Raises MissingExtraError or NotFoundError where ``require`` would."""
        self.require()

        async def open_stream() -> AbstractAsyncContextManager[AsyncIterator[object]]:
            address = await self._server.address()
            return post_events(address, "/v1/chat/completions", payload.body)

        dialect = ChatDialect(self._name)
        return await generate_with_attempts(
            open_stream, lambda: ChatStream(dialect, payload.tools), on_delta, self._limits
        )

    async def aclose(self) -> None:
        """End the server."""
        await self._server.stop()


def _extra(choice: ToolChoice, grammar: str | None) -> JsonObject:
    """Return the members of a request that only llama.cpp and our template understand."""
    if choice.mode == "required":
        # The template opens the call and the grammar holds it. One call in a reply: a small
        # model repeats it to the token limit otherwise. The flag stops a second call inside the
        # same marker, the stop sequence a second marker.
        return {
            **_SAMPLING,
            "chat_template_kwargs": {"opening": "call"},
            "parallel_tool_calls": False,
            "stop": ["<tool_call>"],
        }
    extra: JsonObject = {**_SAMPLING, "chat_template_kwargs": {"opening": "text"}}
    return extra if grammar is None else {**extra, "grammar": grammar}


def _narrowed(request: ModelRequest, max_tokens: int) -> ModelRequest:
    """Return the request as a small model can serve it.

    llama.cpp ignores ``none`` and the name of a demanded tool (upstream issues 27217, 26535), so
    no tools are offered for the one, and only that tool for the other.
    """
    choice = request.tool_choice
    tools = () if choice.mode == "none" else request.tools
    if choice.mode == "tool":
        tools = tuple(tool for tool in tools if tool.name == choice.name)
        choice = ToolChoice(mode="required")
    asked = request.response_format
    return request.model_copy(
        update={
            "response_format": None if asked is None else narrowed(asked),
            "tools": tuple(map(offered, tools)),
            "tool_choice": choice if tools else ToolChoice(mode="none"),
            "max_tokens": min(request.max_tokens, max_tokens),
        }
    )


def _make(place: ProviderPlace) -> Local:
    return Local(place.local_model or model_path(place.home), name=place.name)


PROVIDER = ProviderKind(make=_make)
