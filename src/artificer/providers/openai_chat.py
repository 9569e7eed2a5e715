"""OpenAI Chat Completions over the official SDK, for any ``base_url`` that speaks it."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.contracts.definition import ModelRequest
from artificer.contracts.strict_dialect import OPENAI_STRICT
from artificer.ports import Memo, PreparedRequest
from artificer.providers.attachments import chat_part, fault_of
from artificer.providers.chat_wire import ChatDialect, ChatStream, prepare_request
from artificer.providers.dialects import foreign_dialect
from artificer.providers.registry import ProviderKind, ProviderPlace
from artificer.providers.sdk import OpenAISdkProvider
from artificer.values.blocks import AttachedBlock, Message


class OpenAIChat(OpenAISdkProvider[ChatDialect]):
    """A provider of Chat Completions: OpenAI itself, OpenRouter, Ollama, vLLM, llama.cpp.

    OpenAI itself requires ``max_completion_tokens``; all others understand ``max_tokens``. A
    foreign server gets its own reasoning back.
    """

    own_name = "openai-chat"
    path = "/chat/completions"

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        """Map a request. Pure."""
        return prepare_request(request, messages, memo, self._dialect)

    def attachment_fault(self, block: AttachedBlock) -> str:
        """Return why a request cannot carry an attachment, or nothing."""
        return fault_of(chat_part(block, self._dialect))

    def _usual_dialect(self, name: str, *, own: bool) -> ChatDialect:
        if not own:
            return ChatDialect(name, returns_reasoning=True)
        return ChatDialect(
            name,
            strict=OPENAI_STRICT,
            caches=True,
            formats=True,
            max_tokens_key="max_completion_tokens",
        )

    def _reply_stream(self, prepared: PreparedRequest) -> ChatStream:
        return ChatStream(self._dialect, prepared.tools)


def _make(place: ProviderPlace) -> OpenAIChat:
    """A recorded wire says how the server differs."""
    features = place.features
    if place.recorded is not None:
        features = tuple(place.recorded.split("/")[2:])
    dialect = None if place.base_url is None else foreign_dialect(place.name, features)
    return OpenAIChat(
        place.name,
        base_url=place.base_url,
        key_variable=place.key_variable,
        secrets=place.secrets,
        key_optional=place.key_optional,
        dialect=dialect,
    )


PROVIDER = ProviderKind(make=_make, url_variable="OPENAI_BASE_URL")
