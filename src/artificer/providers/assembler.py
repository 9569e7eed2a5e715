"""What the three reply streams share: guarding against hostile events, bounds, how they fail."""

from __future__ import annotations

from abc import ABC, abstractmethod

from artificer.providers.failures import classify, error_in, failure
from artificer.values.base import JsonObject
from artificer.values.model import Delta, FailureCode, ModelFailure, ModelReply

MAX_PARTS = 512
"""Calls, texts and thoughts in one reply. More is taken for a runaway server."""

MAX_REPLY_CHARS = 8_000_000
"""Characters of text, reasoning and arguments in one reply."""


class ReplyStream(ABC):
    """Assembles one reply from the parsed events of one stream.

    ``feed`` never raises, whatever it is given: what was wrong with the stream is told by
    ``finish``. A protocol's stream fills in ``complete``, ``_take`` and ``_reply``.
    """

    def __init__(self) -> None:
        self._fault: ModelFailure | None = None
        self._chars = 0

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether the provider has said why the reply ended."""

    def feed(self, event: object) -> list[Delta]:
        """Take one event and return the pieces of text and arguments that it brought."""
        if self._fault is not None:
            return []
        if (error := error_in(event)) is not None:
            status, message = error
            self._fail(classify(status, message), message)
            return []
        if not isinstance(event, dict):
            self._fail("malformed_response", "An event of the stream is no JSON object.")
            return []
        return self._take(event)

    def finish(self) -> ModelReply | ModelFailure:
        """Return the reply, or why there is none. Call it once, after the last event."""
        if self._fault is not None:
            return self._fault
        if not self.complete:
            return failure("stream_truncated", "The stream ended before the reply did.")
        return self._reply()

    @abstractmethod
    def _take(self, event: JsonObject) -> list[Delta]:
        """Take an event that is an object and no error. Never raises."""

    @abstractmethod
    def _reply(self) -> ModelReply | ModelFailure:
        """Return the reply of a complete stream. Never raises."""

    def _fail(self, code: FailureCode, message: str) -> None:
        self._fault = failure(code, message)

    def _counted(self, text: str) -> str:
        """Return the text, or nothing once the reply has become too long."""
        self._chars += len(text)
        if self._chars > MAX_REPLY_CHARS:
            limit = MAX_REPLY_CHARS
            self._fail("malformed_response", f"The reply is longer than {limit} characters.")
            return ""
        return text

    def _has_room(self, parts: int) -> bool:
        """Whether a reply of this many parts may get another; if not, the stream has failed."""
        if parts < MAX_PARTS:
            return True
        self._fail("malformed_response", f"The reply has more than {MAX_PARTS} parts.")
        return False
