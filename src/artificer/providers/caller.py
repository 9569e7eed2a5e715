"""A provider whose replies are the calls that another program makes.

The agent of a guarded run is elsewhere: what it calls arrives here, and is recorded as a model's
reply would be. A request holds no conversation, only its length, for nobody reads it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from artificer.contracts.definition import ModelRequest
from artificer.errors import NotFoundError
from artificer.ports import Memo, PreparedRequest
from artificer.providers.registry import ProviderKind, ProviderPlace
from artificer.values.base import JsonObject
from artificer.values.blocks import Message, TextBlock, ToolUseBlock
from artificer.values.model import Delta, ModelFailure, ModelReply

NAME = "caller"

MAX_TOGETHER = 32
"""The most calls of one reply."""


class CallerProvider:
    """Replies with the calls that are passed to :meth:`submit`, in their order.

    Calls that are submitted together become one reply, and run at the same time.
    """

    def __init__(self, *, attached: bool = True) -> None:
        self._attached = attached
        self._calls: list[ToolUseBlock] = []
        self._end: str | None = None
        self._changed = asyncio.Event()
        self.listening = asyncio.Event()
        """Set when a run waits for the next call: all that was open is settled then."""

    @property
    def name(self) -> str:
        """The name that runs record."""
        return NAME

    def require(self) -> None:
        """Raise NotFoundError unless a program is attached that makes the calls."""
        if not self._attached:
            raise NotFoundError(
                "The calls of a guarded run come from the program that guards its tools.",
                hint="Start that program again, with the same key.",
            )

    def submit(self, call: ToolUseBlock) -> None:
        """Add a call to the next reply."""
        self._calls.append(call)
        self._changed.set()

    def withdraw(self, call_id: str) -> None:
        """Remove a call that was in no reply yet."""
        self._calls = [call for call in self._calls if call.id != call_id]

    def end(self, text: str) -> None:
        """Reply with a text when all calls have been made: it ends the run."""
        self._end = text
        self._changed.set()

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        """Return the names of the tools and the roles of the messages."""
        return PreparedRequest(
            memo.fields(request, _body),
            "messages",
            memo.items(None, messages, lambda message: [{"role": message.role}]),
        )

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Wait for calls, or for the end."""
        self.listening.set()
        while not self._calls and self._end is None:
            self._changed.clear()
            await self._changed.wait()
        await asyncio.sleep(0)  # what is called at the same time belongs together
        if self._calls:
            return ModelReply(blocks=self._next(), stop="tool_use")
        text, self._end = self._end or "Done.", None
        return ModelReply(blocks=(TextBlock(text=text),), stop="end_turn")

    def _next(self) -> tuple[ToolUseBlock, ...]:
        """Take the calls of the next reply. Two that are the same are in different ones."""
        chosen: dict[tuple[str, str], ToolUseBlock] = {}
        for call in self._calls:
            if len(chosen) < MAX_TOGETHER:
                chosen.setdefault((call.name, call.arguments), call)
        taken = {call.id for call in chosen.values()}
        self._calls = [call for call in self._calls if call.id not in taken]
        return tuple(chosen.values())

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""


def _body(request: ModelRequest) -> JsonObject:
    return {"model": request.model, "offered": [tool.name for tool in request.tools]}


def _make(place: ProviderPlace) -> CallerProvider:
    return CallerProvider(attached=False)


PROVIDER = ProviderKind(make=_make)
