"""OpenAI Responses over the official SDK, stateless."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.contracts.definition import ModelRequest
from artificer.contracts.strict_dialect import OPENAI_STRICT
from artificer.ports import Memo, PreparedRequest
from artificer.providers.attachments import fault_of, responses_part
from artificer.providers.mapping import count_of
from artificer.providers.registry import ProviderKind, ProviderPlace
from artificer.providers.responses_wire import ResponsesDialect, ResponsesStream, prepare_request
from artificer.providers.sdk import OpenAISdkProvider
from artificer.values.blocks import AttachedBlock, Message


class OpenAIResponses(OpenAISdkProvider[ResponsesDialect]):
    """A provider of OpenAI Responses: OpenAI itself, or a compatible server."""

    own_name = "openai"
    path = "/responses"

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        """Map a request. Pure."""
        return prepare_request(request, messages, memo, self._dialect)

    def attachment_fault(self, block: AttachedBlock) -> str:
        """Return why a request cannot carry an attachment, or nothing."""
        return fault_of(responses_part(block, self._dialect))

    def _usual_dialect(self, name: str, *, own: bool) -> ResponsesDialect:
        strict = OPENAI_STRICT if own else None
        return ResponsesDialect(name, strict=strict, caches=own, formats=own)

    def _reply_stream(self, prepared: PreparedRequest) -> ResponsesStream:
        budget = count_of(prepared.fields, "max_output_tokens")
        return ResponsesStream(self._dialect, prepared.tools, budget)


def _make(place: ProviderPlace) -> OpenAIResponses:
    return OpenAIResponses(
        place.name,
        base_url=place.base_url,
        key_variable=place.key_variable,
        secrets=place.secrets,
    )


PROVIDER = ProviderKind(make=_make)
