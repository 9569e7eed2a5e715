"""A provider that answers with the recorded replies of a run.

A request is recognised by its digest. A request without a recorded reply fails: a recorded run that
sends a new request has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from artificer.contracts.definition import ModelRequest
from artificer.ports import Memo, PreparedRequest, Provider
from artificer.values.blocks import Message
from artificer.values.canon import ListDigest
from artificer.values.model import Delta, ModelFailure, ModelReply


class RecordedProvider:
    """Answers by request digest, with requests mapped as ``original`` maps them."""

    def __init__(
        self, original: Provider, answers: Mapping[str, ModelReply | ModelFailure]
    ) -> None:
        self._original = original
        self._answers = answers
        self._digests = ListDigest()

    @property
    def name(self) -> str:
        """The name of the provider that was recorded."""
        return self._original.name

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        """Map the request as the recorded provider does."""
        return self._original.prepare(request, messages, memo)

    def digest(self, prepared: PreparedRequest) -> str:
        """Return the digest of a request. Only the new messages of its conversation are hashed."""
        return self._digests.digest(prepared.fields, prepared.key, prepared.items)

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Return the recorded reply to this request."""
        digest = self.digest(prepared)
        answer = self._answers.get(digest)
        if answer is None:
            return ModelFailure(
                code="bad_request", message=f"The recording has no reply to request {digest}."
            )
        return answer

    async def aclose(self) -> None:
        """Close the original provider."""
        await self._original.aclose()
