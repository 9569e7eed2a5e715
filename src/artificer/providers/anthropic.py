"""Anthropic Messages over the official SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from artificer.contracts.definition import ModelRequest
from artificer.contracts.strict_dialect import ANTHROPIC_STRICT
from artificer.ports import Memo, PreparedRequest
from artificer.providers.attachments import fault_of, messages_part
from artificer.providers.messages_wire import MessagesDialect, MessagesStream, prepare_request
from artificer.providers.registry import ProviderKind, ProviderPlace
from artificer.providers.sdk import SdkProvider, http_options
from artificer.values.blocks import AttachedBlock, Message


class Anthropic(SdkProvider[MessagesDialect]):
    """A provider of Anthropic Messages: Anthropic itself, or a compatible server."""

    vendor = "ANTHROPIC"
    own_name = "anthropic"
    sdk = "anthropic"
    path = "/v1/messages"

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        """Map a request. Pure."""
        return prepare_request(request, messages, memo, self._dialect)

    def attachment_fault(self, block: AttachedBlock) -> str:
        """Return why a request cannot carry an attachment, or nothing."""
        return fault_of(messages_part(block, self._dialect))

    def _usual_dialect(self, name: str, *, own: bool) -> MessagesDialect:
        strict = ANTHROPIC_STRICT if own else None
        return MessagesDialect(name, strict=strict, caches=own, formats=own, limits_images=own)

    def _new_client(self, key: str) -> Any:
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

        timeout = self._limits.request
        return AsyncAnthropic(
            api_key=key,
            base_url=self._endpoint.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=DefaultAsyncHttpxClient(**http_options(timeout)),
        )

    def _stream_class(self) -> type:
        from anthropic import AsyncStream

        return AsyncStream[object]

    def _reply_stream(self, prepared: PreparedRequest) -> MessagesStream:
        return MessagesStream(self._dialect, prepared.tools)


def _make(place: ProviderPlace) -> Anthropic:
    return Anthropic(
        place.name,
        base_url=place.base_url,
        key_variable=place.key_variable,
        secrets=place.secrets,
    )


PROVIDER = ProviderKind(make=_make)
