"""The messages of an earlier run with which a new one begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from artificer.contracts.definition import Toolset
from artificer.core.state import RunState
from artificer.core.taint import Taint, tainted
from artificer.errors import AuthorError, InvalidValueError
from artificer.values.arguments import shown
from artificer.values.blocks import Message, ToolResultBlock


class EarlierRun(Protocol):
    """A run, as far as another one continues from it."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def state(self) -> RunState:
        """Its state."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """Its conversation."""


EarlierMessages = EarlierRun | Sequence[Message]
"""A run whose conversation continues in another one, or messages such as `run.messages`."""


def history_facts(history: EarlierMessages | None, toolset: Toolset) -> dict[str, Any]:
    """Return the fields of a spec that record a conversation.

    The tools that messages without a run name count as untrusted, unless the new run has them and
    trusts them.

    Raises:
        AuthorError: these are not messages, or a call has no result.
    """
    if history is None:
        return {}
    if not isinstance(history, Sequence) and not hasattr(history, "messages"):
        raise AuthorError(
            f"{shown(history)} is not a conversation to continue from.",
            hint="Pass a run, or messages such as run.messages.",
        )
    if not isinstance(history, Sequence):
        _require_whole(history.messages)
        taint = history.state.taint
        return {"history": history.messages, "history_from": history.id, "taint": taint}
    _require_whole(history)
    messages = tuple(_checked(number, message) for number, message in enumerate(history))
    return {"history": messages, "taint": _taint_of(messages, toolset)}


def _checked(number: int, message: Message) -> Message:
    """Return a message, if it can be recorded and read again. Raises AuthorError."""
    try:
        return message.verified()
    except InvalidValueError as error:
        raise AuthorError(
            f"history[{number}] cannot be recorded: {error.message}",
            hint="Pass a run, or its `messages`.",
        ) from error


def _taint_of(messages: Sequence[Message], toolset: Toolset) -> Taint | None:
    taint: Taint | None = None
    for message in messages:
        for call in message.calls:
            taint = tainted(taint, toolset.get(call.name), call.id)
    return taint


def _require_whole(messages: Sequence[object]) -> None:
    open_calls: set[str] = set()
    for number, message in enumerate(messages):
        if not isinstance(message, Message):
            raise AuthorError(
                f"history[{number}] is not a message: {message!r}.",
                hint="Pass a run, or its `messages`.",
            )
        results = {b.tool_use_id for b in message.blocks if isinstance(b, ToolResultBlock)}
        if results != open_calls:
            raise AuthorError(
                f"history[{number}] does not answer the calls before it.",
                hint="Keep each reply with calls together with the message that answers it.",
            )
        open_calls = {call.id for call in message.calls}
    if open_calls:
        raise AuthorError(
            "The history ends in calls without results.",
            hint="Resume that run first, or leave out its last message.",
        )
