"""A model whose answers come from a journal: the journal is the cassette.

A request is recognised by its digest. One that the journal does not know is a failure, never a
guess: a recorded run that asks something new has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from artificer.contracts.definition import ModelRequest
from artificer.ports import Memo, Payload, Provider
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

    def prepare(self, request: ModelRequest, messages: Sequence[Message], memo: Memo) -> Payload:
        """Map the request as the recorded provider does."""
        return self._original.prepare(request, messages, memo)

    def asked(self, payload: Payload) -> str:
        """The digest of a request, at the cost of what is new in its conversation."""
        return self._digests.digest(payload.rest, payload.key, payload.items)

    async def generate(
        self, payload: Payload, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Return the recorded answer to this very request."""
        asked = self.asked(payload)
        answer = self._answers.get(asked)
        if answer is None:
            return ModelFailure(
                code="bad_request", message=f"The recording has no answer to request {asked}."
            )
        return answer

    async def aclose(self) -> None:
        """Release what the original holds."""
        await self._original.aclose()
