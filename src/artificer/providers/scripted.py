"""A provider that returns scripted replies, for tests and demonstrations.

It implements the same port as every real provider, and its requests have digests like theirs.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import msgspec

from artificer.contracts.definition import ModelRequest
from artificer.errors import AuthorError
from artificer.ports import Memo, PreparedRequest
from artificer.providers.registry import ProviderKind, ProviderPlace
from artificer.values.arguments import shown
from artificer.values.base import JsonObject
from artificer.values.blocks import (
    AttachedBlock,
    Block,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolUseBlock,
)
from artificer.values.model import (
    ArgumentsDelta,
    Delta,
    ModelFailure,
    ModelReply,
    ReasoningDelta,
    StopReason,
    TextDelta,
    Usage,
)
from artificer.values.parameters import named_arguments

ScriptedReply = ModelReply | ModelFailure | str
"""A reply or a failure; a text is a reply that is only text."""

Script = (
    Iterable[ScriptedReply]
    | Callable[[JsonObject], ScriptedReply]
    | Callable[[JsonObject], Awaitable[ScriptedReply]]
)


def say(text: str, *, stop: StopReason = "end_turn") -> ModelReply:
    """Return a reply that is only text."""
    return ModelReply(blocks=(TextBlock(text=text),), stop=stop, usage=_USAGE)


def call(name: str, /, **arguments: object) -> ToolUseBlock:
    """Return a tool call with these arguments and no id; the runtime assigns one."""
    return ToolUseBlock(id="", name=name, arguments=json.dumps(arguments, ensure_ascii=False))


def reply(*blocks: Block | str, stop: StopReason = "tool_use") -> ModelReply:
    """Return a reply of any blocks; a text is a block, too.

    >>> reply("I look it up.", call("population", city="Bern"))
    """
    made = tuple(TextBlock(text=one) if isinstance(one, str) else one for one in blocks)
    return ModelReply(blocks=made, stop=stop, usage=_USAGE)


_USAGE = Usage(input_tokens=10, output_tokens=5)


class ScriptedProvider:
    """Returns replies from a list, in order, or from a function of the request's body.

    A reply is a text, or is made by `artificer.testing.reply`. The function may be ``async``.

    >>> agent = Agent(ScriptedProvider(["Hello."]))

    Raises:
        AuthorError: the run needs more replies than the script has, or one of them is none.
    """

    @named_arguments
    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self._function = script if callable(script) else None
        self._answers = [] if callable(script) else list(script)
        self._name = name
        self.requests: list[JsonObject] = []

    @property
    def name(self) -> str:
        """``scripted``, unless it plays another provider."""
        return self._name

    @property
    def remaining(self) -> int:
        """The number of unused replies."""
        return len(self._answers)

    def prepare(
        self, request: ModelRequest, messages: Sequence[Message], memo: Memo
    ) -> PreparedRequest:
        """Return the request in its normal form, which is the wire form."""
        return PreparedRequest(
            memo.fields(request, _body, _body), "messages", memo.items(None, messages, _to_wire)
        )

    def attachment_fault(self, block: AttachedBlock) -> str:
        """Return nothing: a script takes all attachments."""
        return ""

    async def generate(
        self, prepared: PreparedRequest, on_delta: Callable[[Delta], None]
    ) -> ModelReply | ModelFailure:
        """Return the next reply and stream its pieces."""
        self.requests.append(prepared.body)
        if self._function is not None:
            found = self._function(prepared.body)
            answer = await found if inspect.isawaitable(found) else found
        elif self._answers:
            answer = self._answers.pop(0)
        else:
            raise AuthorError(
                f"The script has no reply to request {len(self.requests)}.",
                hint="Add a reply, or find out why the run sent an extra request.",
            )
        if isinstance(answer, str):
            answer = say(answer)
        if not isinstance(answer, (ModelReply, ModelFailure)):
            raise AuthorError(
                f"Reply {len(self.requests)} of the script is {shown(answer)}.",
                hint='Write a text, or reply(call("add", a=1)).',
            )
        if isinstance(answer, ModelReply):
            _stream(answer, on_delta)
        return answer

    async def aclose(self) -> None:
        """Do nothing: there is nothing to release."""


_LATER = {"cache_key", "response_format", "settings"}
"""Members added after the first release: their defaults are left out, so digests stay."""

_OFFERED = ("name", "description", "input_schema")


def _body(request: ModelRequest) -> JsonObject:
    """Return the request without the conversation."""
    whole, lean = request.to_json(), request.to_json(defaults=False)
    return {
        **{name: member for name, member in whole.items() if name not in _LATER},
        **{name: member for name, member in lean.items() if name in _LATER},
        "tools": [{name: tool[name] for name in _OFFERED} for tool in whole["tools"]],
    }


def _to_wire(message: Message) -> list[JsonObject]:
    """Return the message as it is; results without attachments have the form that they had."""
    item: dict[str, Any] = msgspec.to_builtins(message)
    for block in item["blocks"]:
        if block.get("attachments") == ():
            del block["attachments"]
    return [item]


def _stream(answer: ModelReply, on_delta: Callable[[Delta], None]) -> None:
    index = 0
    for block in answer.blocks:
        if isinstance(block, TextBlock):
            on_delta(TextDelta(text=block.text))
        elif isinstance(block, ReasoningBlock):
            on_delta(ReasoningDelta(text=block.summary))
        elif isinstance(block, ToolUseBlock):
            on_delta(ArgumentsDelta(index=index, name=block.name, text=block.arguments))
            index += 1


def _make(place: ProviderPlace) -> ScriptedProvider:
    """A provider without a script, for work that makes no request."""
    return ScriptedProvider([], name=place.name)


PROVIDER = ProviderKind(make=_make)
