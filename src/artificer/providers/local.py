"""The embedded model: a real language model on the user's machine, without key or network.

It demonstrates the mechanics, not intelligence. The model file is SmolLM2-135M-Instruct (see
``local_fetch``) or any GGUF that llama.cpp reads. The server is a child process
(``local_process``), used through Chat Completions without an SDK. ``prepare`` adapts requests to a
small model: tools are narrowed (``local_offer``), a required call is enforced by grammar, and a
reply holds one call.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from artificer.contracts.definition import ModelRequest
from artificer.contracts.model_settings import RequestSettings
from artificer.errors import ConfigError
from artificer.ports import Memo, PreparedRequest
from artificer.providers.attempts import AttemptLimits, generate_with_attempts
from artificer.providers.chat_wire import ChatDialect, ChatStream, prepare_request
from artificer.providers.local_bound import NamedData, named_in
from artificer.providers.local_fetch import model_path
from artificer.providers.local_http import post_events
from artificer.providers.local_offer import narrowed, offered
from artificer.providers.local_process import LocalServer
from artificer.providers.local_text import closing_grammar, rules_of
from artificer.providers.registry import ProviderKind, ProviderPlace
from artificer.values.base import JsonObject
from artificer.values.blocks import Message
from artificer.values.model import Delta, ModelFailure, ModelReply, ToolChoice

EMBEDDED = "smollm2"
"""The name of whichever model file is configured; runs may also name the file itself."""

MAX_TOKENS = 512
"""Longest reply for any request: some 10 seconds, which bounds the cost of a runaway."""

LIMITS = AttemptLimits(attempts=3, first_delay=0.2)
"""A second attempt is for a dropped connection; a dead server is replaced. A third one comes after
a pause, because a killed server refuses connections a moment before its end is noticed."""

_SAMPLING: JsonObject = {
    # Greedy, so that the same conversation gets the same reply. The server's prompt cache breaks
    # that (another batch size rounds differently) and would save only a second or two per turn.
    "temperature": 0.0,
    "seed": 1,
    "cache_prompt": False,
    # Without a slight penalty a model of this size repeats its first item to the end of the list.
    # A stronger one (1.1), or one that covers the prompt, changes text that it should copy.
    "repeat_penalty": 1.05,
    "repeat_last_n": 64,
}


class Local:
    """A provider for one GGUF file. The server starts with the first request.

    Creating it never fails; ``require`` reports early what ``generate`` would lack.
    """

    def __init__(
        self,
        model: Path,
        *,
        name: str = "local",
        max_tokens: int = MAX_TOKENS,
        limits: AttemptLimits = LIMITS,
        server: LocalServer | None = None,
    ) -> None:
        self._model = model
        self._name = name
        self._max_tokens = max_tokens
        self._limits = limits
        self._server = server or LocalServer(model)

    @property
    def name(self) -> str:
        """The part of a model's name before the slash."""
        return self._name

    def require(self) -> None:
        """Check that the server can start. Raises MissingExtraError or NotFoundError."""
        self._server.require()

    def check_model(self, name: str) -> None:
        """Raise ConfigError unless it is the name of the model file, or the embedded model's."""
        known = [EMBEDDED, self._model.stem]
        if name.lower() not in map(str.lower, known):
            raise ConfigError(
                f"The provider 'local' runs {self._model.name}; it has no model {name!r}.",
                hint=f"Write {self._name}/{EMBEDDED}, or name a GGUF file with --local-model FILE.",
            )

    def refused(self, settings: RequestSettings) -> tuple[str, ...]:
        """Return the settings that make no sense for a model in this machine's memory."""
        return tuple(sorted(settings.named & {"extra_headers", "reasoning", "service_tier"}))

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        """Map a request. Pure."""
        narrow = _narrowed(request, self._max_tokens, named_in(messages))
        response_format = narrow.response_format
        prose = _prose(narrow)
        if prose:
            narrow = narrow.replace(settings=narrow.settings.without_extra("grammar"))
        grammar = None if narrow.tools or response_format else closing_grammar(messages, prose)
        # llama.cpp can constrain a reply to tools or to a schema, not to one of both.
        held = response_format is not None and not narrow.tools
        extra = _extra(narrow.tool_choice, grammar)
        dialect = ChatDialect(self._name, formats=held, text_only=True, extra=extra)
        return prepare_request(narrow, messages, memo, dialect)

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Return the model's reply. Raises MissingExtraError or NotFoundError like ``require``."""
        self.require()

        async def open_stream() -> AbstractAsyncContextManager[AsyncIterator[object]]:
            address = await self._server.address()
            return post_events(address, "/v1/chat/completions", prepared.body)

        dialect = ChatDialect(self._name)
        return await generate_with_attempts(
            open_stream, lambda: ChatStream(dialect, prepared.tools), on_delta, self._limits
        )

    async def aclose(self) -> None:
        """Stop the server."""
        await self._server.stop()


def _extra(choice: ToolChoice, grammar: str | None) -> JsonObject:
    """Return the members of a request that only llama.cpp and our template understand."""
    if choice.mode == "required":
        # The template opens the call and the grammar constrains it. One call per reply: otherwise a
        # small model repeats it to the token limit. The flag stops a second call inside the same
        # marker, the stop sequence a second marker.
        return {
            **_SAMPLING,
            "chat_template_kwargs": {"opening": "call"},
            "parallel_tool_calls": False,
            "stop": ["<tool_call>"],
        }
    extra: JsonObject = {**_SAMPLING, "chat_template_kwargs": {"opening": "text"}}
    return extra if grammar is None else {**extra, "grammar": grammar}


def _prose(request: ModelRequest) -> str:
    """Return the author's rules for the text: a grammar that leaves the root to us."""
    rules = request.settings.extra_body.get("grammar")
    return rules if isinstance(rules, str) and "root" not in rules_of(rules) else ""


def _narrowed(request: ModelRequest, max_tokens: int, named: NamedData) -> ModelRequest:
    """Return the request adapted to a small model.

    llama.cpp ignores ``none`` and the name of a required tool (upstream issues 27217, 26535). So
    no tools are offered for ``none``, and only the required tool for a name.
    """
    choice = request.tool_choice
    tools = () if choice.mode == "none" else request.tools
    if choice.mode == "tool":
        tools = tuple(tool for tool in tools if tool.name == choice.name)
        choice = ToolChoice(mode="required")
    response_format = request.response_format
    return request.replace(
        response_format=None if response_format is None else narrowed(response_format),
        tools=tuple([offered(tool, named) for tool in tools]),
        tool_choice=choice if tools else ToolChoice(mode="none"),
        max_tokens=min(request.max_tokens, max_tokens),
    )


def _make(place: ProviderPlace) -> Local:
    return Local(place.local_model or model_path(place.home), name=place.name)


PROVIDER = ProviderKind(make=_make)
