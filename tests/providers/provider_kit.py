"""Shared parts of the provider tests: one conversation, and the three adapters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from strict_rules import Protocol

from artificer.contracts.definition import ModelRequest, ToolDefinition
from artificer.ports import Memo, PreparedRequest, Provider
from artificer.providers.anthropic import Anthropic
from artificer.providers.attempts import AttemptLimits
from artificer.providers.openai_chat import OpenAIChat
from artificer.providers.openai_responses import OpenAIResponses
from artificer.values.blocks import Message, ToolResultBlock, user
from artificer.values.model import Delta, ModelFailure, ModelReply, ToolChoice
from schemas import required_object

KEY = "sk-test-0123456789abcdef"
# Steps long enough that a busy machine's own delays don't hide that they grow.
QUICK = AttemptLimits(first_delay=0.4, max_delay=1.6, drain=1.0, jitter=lambda: 0.5)

ADD = ToolDefinition(
    name="math.add",
    description="Add two integers.",
    input_schema=required_object(a={"type": "integer"}, b={"type": "integer"}),
    effect="pure",
)
FIND = ToolDefinition(
    name="find",
    description="Find files.",
    input_schema={
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1},
            "limit": {"type": "integer", "minimum": 1},
        },
        "required": ["pattern"],
    },
)
TOOLS = (ADD, FIND)

PROVIDERS: dict[Protocol, Callable[..., Provider]] = {
    "chat": OpenAIChat,
    "messages": Anthropic,
    "responses": OpenAIResponses,
}


def a_request(**changes: object) -> ModelRequest:
    """A request with two tools; ``changes`` replace members."""
    whole: dict[str, object] = {
        "model": "m",
        "system": "Be brief.",
        "tools": TOOLS,
        "tool_choice": ToolChoice(),
        "max_tokens": 200,
    }
    return ModelRequest.from_json({**whole, **changes})


async def ask(
    provider: Provider,
    messages: Sequence[Message] = (user("What is 1 + 2?"),),
    on_delta: Callable[[Delta], None] = lambda _: None,
    **changes: object,
) -> ModelReply | ModelFailure:
    """Prepare and generate once."""
    prepared: PreparedRequest = provider.prepare(a_request(**changes), messages, Memo())
    return await provider.generate(prepared, on_delta)


def reply(outcome: ModelReply | ModelFailure) -> ModelReply:
    """The outcome, which must be a reply."""
    assert isinstance(outcome, ModelReply), outcome
    return outcome


def with_results(messages: Sequence[Message], answer: ModelReply, content: str) -> list[Message]:
    """The conversation after every call of a reply has been answered."""
    said = Message(role="assistant", blocks=answer.blocks)
    results = tuple(
        ToolResultBlock(tool_use_id=call.id, status="ok", content=content) for call in said.calls
    )
    return [*messages, said, Message(role="user", blocks=results)]
