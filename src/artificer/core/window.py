"""The window: which part of a conversation is sent to the model.

The whole conversation stays in the state and in the journal. A window begins where no call is
parted from its result, and its opening stands for what comes before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from artificer.values.base import Value
from artificer.values.blocks import Message, ToolResultBlock, user


class Window(Value):
    """``start`` messages are not sent; ``opening`` replaces them.

    ``summary`` accounts for the first ``told`` of them; those between were dropped. ``turn`` is
    the turn before which the window was moved: there were ``messages`` then, and a request of
    about ``tokens`` tokens came of it.
    """

    start: int = 0
    told: int = 0
    turn: int = 0
    messages: int = 0
    tokens: int = 0
    summary: str = ""
    opening: str = ""


def sent(history: Sequence[Message], window: Window) -> Sequence[Message]:
    """The messages that a request carries.

    The opening and a text of the user's that follows it are one message: some chat templates
    refuse two of the same side in a row. The prompt's attachments stay, as its text does.
    """
    if not window.opening:
        return history
    rest = history[window.start :]
    opening = user(window.opening, history[0].attachments if window.start else ())
    if rest and rest[0].role == "user":
        return (rest[0].replace(blocks=(*opening.blocks, *rest[0].blocks)), *rest[1:])
    return (opening, *rest)


def boundaries(history: Sequence[Message], start: int) -> list[int]:
    """Where a window may begin behind ``start``: at no result, and only if it drops a reply.

    The last one leaves nothing; there is none where that would drop the user's last message.
    """
    found: list[int] = []
    replied = False
    for number in range(start, len(history)):
        if replied and not _answers(history[number]):
            found.append(number)
        replied = replied or history[number].role == "assistant"
    if replied and _answers(history[-1]):
        found.append(len(history))
    return found


def _answers(message: Message) -> bool:
    """Whether a message answers calls."""
    return any(isinstance(block, ToolResultBlock) for block in message.blocks)
