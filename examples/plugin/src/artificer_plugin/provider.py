"""The provider ``relay``: not a model: the prompt contains the arguments of a call.

It calls the first tool that a run offers with the prompt, and replies with the tool's result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from artificer import Usage
from artificer.extend import ProviderKind, ProviderPlace
from artificer.types import (
    Delta,
    JsonObject,
    Memo,
    Message,
    ModelFailure,
    ModelReply,
    ModelRequest,
    PreparedRequest,
    TextBlock,
    TextDelta,
    ToolUseBlock,
)

_USAGE = Usage(input_tokens=1, output_tokens=1)


class Relay:
    """Replies to a request from its contents. ``only`` names the one tool that it calls."""

    def __init__(self, name: str = "relay", only: str | None = None) -> None:
        self.name = name
        self._only = only

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        """Map a request: all of it is sent, as a run records it."""
        fields = memo.fields(request, _fields)
        return PreparedRequest(fields, "messages", memo.items(None, messages, _items))

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Call a tool with the prompt, or reply with the result of a call."""
        body: Any = prepared.body
        last = body["messages"][-1]["blocks"][-1]
        if last["type"] == "tool_result":
            text = str(last["content"])
            on_delta(TextDelta(text=text))
            return ModelReply(blocks=(TextBlock(text=text),), stop="end_turn", usage=_USAGE)
        names = [str(tool["name"]) for tool in body["tools"]]
        tool = next((name for name in names if self._only in (None, name)), None)
        if tool is None:
            return ModelFailure(code="bad_request", message="There is no tool to call.")
        use = ToolUseBlock(id="", name=tool, arguments=str(last["text"]))
        return ModelReply(blocks=(use,), stop="tool_use", usage=_USAGE)

    async def aclose(self) -> None:
        """Release nothing."""


def _fields(request: ModelRequest) -> JsonObject:
    return {
        "model": request.model,
        "system": request.system,
        "max_tokens": request.max_tokens,
        "tools": [
            {"name": tool.name, "about": tool.description, "schema": tool.input_schema}
            for tool in request.tools
        ],
    }


def _items(message: Message) -> list[JsonObject]:
    return [message.to_json()]


def _make(place: ProviderPlace) -> Relay:
    return Relay(place.name)


PROVIDER = ProviderKind(make=_make)
