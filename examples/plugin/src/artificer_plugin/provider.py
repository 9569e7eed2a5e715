"""The provider ``relay``: no model, but a prompt that is the arguments of a call.

It calls the first tool that a run offers with the prompt, and replies with the tool's result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from artificer.contracts.definition import ModelRequest
from artificer.ports import Memo, Payload
from artificer.providers.registry import ProviderKind, ProviderPlace
from artificer.values.base import JsonObject
from artificer.values.blocks import Message, TextBlock, ToolUseBlock
from artificer.values.model import Delta, ModelReply, TextDelta, Usage

_USAGE = Usage(input_tokens=1, output_tokens=1)


class Relay:
    """Replies to a request from what it holds."""

    name = "relay"

    def prepare(self, request: ModelRequest, messages: Sequence[Message], memo: Memo) -> Payload:
        """Map a request: the names of its tools, and each message's last block."""
        fields = memo.fields(request, _fields)
        return Payload(fields, "messages", memo.items(None, messages, _items))

    async def generate(self, payload: Payload, on_delta: Callable[[Delta], None]) -> ModelReply:
        """Call a tool with a prompt; hand the result of a call on."""
        last = payload.items[-1]
        if "result" in last:
            text = str(last["result"])
            on_delta(TextDelta(text=text))
            return ModelReply(blocks=(TextBlock(text=text),), stop="end_turn", usage=_USAGE)
        (tool, *_) = payload.fields["tools"]
        use = ToolUseBlock(id="", name=str(tool), arguments=str(last["prompt"]))
        return ModelReply(blocks=(use,), stop="tool_use", usage=_USAGE)

    async def aclose(self) -> None:
        """Release nothing."""


def _fields(request: ModelRequest) -> JsonObject:
    return {"model": request.model, "tools": [tool.name for tool in request.tools]}


def _items(message: Message) -> list[JsonObject]:
    found: list[JsonObject] = []
    for block in message.blocks:
        if block.type == "tool_result":
            found.append({"result": block.content})
        elif block.type == "text":
            found.append({"prompt": block.text})
    return found


def _make(place: ProviderPlace) -> Relay:
    return Relay()


PROVIDER = ProviderKind(make=_make)
