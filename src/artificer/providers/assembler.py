"""The common part of the three reply streams: hostile events, limits and failures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from artificer.contracts.definition import ToolDefinition
from artificer.providers.dialects import Dialect
from artificer.providers.failures import classify, error_in, failure
from artificer.providers.mapping import NewId, fresh_id
from artificer.providers.wire_tools import WireTools
from artificer.values.base import JsonObject
from artificer.values.blocks import ReasoningBlock, ToolUseBlock
from artificer.values.model import ArgumentsDelta, Delta, FailureCode, ModelFailure, ModelReply
from artificer.values.text import well_formed

MAX_PARTS = 512
"""Calls, texts and thoughts in one reply. More would mean a runaway server."""

MAX_REPLY_CHARS = 8_000_000
"""Characters of text, reasoning and arguments in one reply."""


class ReplyStream(ABC):
    """Assembles one reply from the parsed events of one stream.

    ``feed`` never raises, for any input; ``finish`` returns the stream's fault. A protocol's
    stream implements ``complete``, ``_take`` and ``_reply``.

    ``new_id`` makes an id for a call that has no usable one.
    """

    def __init__(
        self, dialect: Dialect, tools: Sequence[ToolDefinition], new_id: NewId = fresh_id
    ) -> None:
        self._tag = dialect.tag
        self._tools = WireTools(tools, strict=dialect.strict)
        self._new_id = new_id
        self._taken: set[str] = set()
        self._fault: ModelFailure | None = None
        self._chars = 0

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether the provider has given the reason for which the reply ended."""

    @property
    def failed(self) -> bool:
        """Whether the stream has a fault. Nothing that follows changes it."""
        return self._fault is not None

    def feed(self, event: object) -> list[Delta]:
        """Process one event and return the pieces of text and arguments it added."""
        if self._fault is not None:
            return []
        if (error := error_in(event)) is not None:
            status, message = error
            self._fail(classify(status, message), message, body=event)
            return []
        if not isinstance(event, dict):
            self._fail("malformed_response", "An event of the stream is no JSON object.")
            return []
        return self._take(event)

    def finish(self) -> ModelReply | ModelFailure:
        """Return the reply, or the failure. Call it once, after the last event."""
        if self._fault is not None:
            return self._fault
        if not self.complete:
            return failure("stream_truncated", "The stream ended before the reply did.")
        return self._reply()

    @abstractmethod
    def _take(self, event: JsonObject) -> list[Delta]:
        """Process an event that is an object and not an error. Never raises."""

    @abstractmethod
    def _reply(self) -> ModelReply | ModelFailure:
        """Return the reply of a complete stream. Never raises."""

    def _fail(self, code: FailureCode, message: str, *, body: object = None) -> None:
        self._fault = failure(code, message, body=body)

    def _counted(self, text: str) -> str:
        """Return the text, or an empty one once the reply is too long."""
        self._chars += len(text)
        if self._chars > MAX_REPLY_CHARS:
            limit = MAX_REPLY_CHARS
            self._fail("malformed_response", f"The reply is longer than {limit} characters.")
            return ""
        return text

    def _has_room(self, parts: int) -> bool:
        """Return whether a reply of this many parts may get another; if not, fail the stream."""
        if parts < MAX_PARTS:
            return True
        self._fail("malformed_response", f"The reply has more than {MAX_PARTS} parts.")
        return False

    def _arguments_delta(self, index: int, wire_name: str, piece: str) -> ArgumentsDelta:
        """Return a piece of the arguments of the reply's call number ``index``."""
        name = self._tools.names.from_wire(wire_name)
        return ArgumentsDelta(index=index, name=name, text=piece)

    def _call(self, call_id: str, wire_name: str, arguments: str) -> ToolUseBlock:
        """Return a call for the runtime, with a new id if its own is missing or repeated."""
        usable = well_formed(call_id)
        if not usable or usable in self._taken:
            usable = self._new_id()
        self._taken.add(usable)
        call = ToolUseBlock(id=usable, name=wire_name, arguments=arguments)
        return self._tools.from_wire(call)

    def _reasoning_block(self, data: str, summary: str) -> ReasoningBlock:
        """Return reasoning that is only sent back to the provider that wrote it."""
        return ReasoningBlock(provider=self._tag, data=data, summary=summary)
