"""The messages of a run: immutable, and as cheap to extend at turn 1,000 as at turn 10.

A tuple would be copied with every message. A conversation shares one growing list with those that
it was extended from, and knows how much of the list is its own. Only the newest of them may add to
the list; extending an older one, as a fork does, copies its part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Self, overload

from msgspec import convert

from artificer.values.blocks import Message


class MessageHistory(Sequence[Message]):
    """Messages in order."""

    __slots__ = ("_length", "_messages")

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        self._messages = list(messages)
        self._length = len(self._messages)

    def extended(self, message: Message) -> MessageHistory:
        """Return the conversation with one more message."""
        shared = self._messages
        if not self._length or len(shared) != self._length:
            shared = shared[: self._length]
        shared.append(message)
        longer = MessageHistory.__new__(MessageHistory)
        longer._messages, longer._length = shared, self._length + 1
        return longer

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple(map(self._messages.__getitem__, range(*index.indices(self._length))))
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._messages[index % self._length]

    def __iter__(self) -> Iterator[Message]:
        return islice(self._messages, self._length)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (MessageHistory, tuple)):
            return NotImplemented
        if len(other) != self._length:
            return False
        shares = isinstance(other, MessageHistory) and other._messages is self._messages
        return shares or all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((self._length, self[-1] if self._length else None))

    def __repr__(self) -> str:
        return f"MessageHistory({tuple(self)!r})"

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Convert a JSON value to a conversation. Raises what msgspec raises."""
        return cls(convert(value, tuple[Message, ...]))

    def to_json(self) -> list[Any]:
        """The JSON value."""
        return [message.to_json() for message in self]
