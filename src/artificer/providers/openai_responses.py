"""OpenAI Responses over the official SDK, stateless."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from artificer.contracts.definition import ModelRequest
from artificer.contracts.strict_schema import OPENAI_STRICT
from artificer.ports import Memo, Payload
from artificer.providers.attempts import Limits, generate_with_attempts
from artificer.providers.mapping import count_of
from artificer.providers.responses_wire import ResponsesDialect, ResponsesStream, to_payload
from artificer.providers.sdk import ClientOfLoop, Endpoint, new_openai_client, open_stream_with
from artificer.values.blocks import Message
from artificer.values.model import Delta, ModelFailure, ModelReply


class OpenAIResponses:
    """A provider of OpenAI Responses: OpenAI itself, or a server that speaks it.

    Strict tools are on for OpenAI itself and off for a foreign ``base_url``, unless ``dialect``
    says otherwise. The key comes from ``api_key`` or, when a request is sent, from the
    environment variable ``key_variable``.
    """

    def __init__(
        self,
        name: str = "openai",
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        key_variable: str | None = None,
        dialect: ResponsesDialect | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._name = name
        self._endpoint = Endpoint("OPENAI", base_url, api_key, key_variable)
        self._limits = limits or Limits()
        self._client = ClientOfLoop()
        own = base_url is None
        self._dialect = dialect or ResponsesDialect(name, strict=OPENAI_STRICT if own else None)

    @property
    def name(self) -> str:
        """The word before the slash in a model's name."""
        return self._name

    def prepare(self, request: ModelRequest, messages: Sequence[Message], memo: Memo) -> Payload:
        """Map a request. Pure."""
        return to_payload(request, messages, memo, self._dialect)

    async def generate(
        self, payload: Payload, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Ask the model. Raises MissingExtraError when the SDK is not installed."""
        key = self._endpoint.key()
        if isinstance(key, ModelFailure):
            return key
        client = self._client.get(key, self._new_client)
        budget = count_of(payload.rest, "max_output_tokens")
        return await generate_with_attempts(
            open_stream_with(client.responses.create, payload),
            lambda: ResponsesStream(self._dialect, payload.tools, budget),
            on_delta,
            self._limits,
            secret=key,
        )

    def _new_client(self, key: str) -> Any:
        return new_openai_client(key, self._endpoint.base_url, self._limits)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()
