"""Repetition: a model that makes the same calls again, and gets the same results, is stuck.

A turn is the same as an earlier one when its calls (tool and arguments) and their results are the
same: a result that differs is progress. For a call that did not run, only its status is compared,
because its wording may differ. Two turns that alternate are found as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from artificer.values.base import Digest, Value
from artificer.values.blocks import CallStatus, Message, ToolResultBlock, ToolUseBlock
from artificer.values.canon import canonical_typed, digest_of
from artificer.values.text import clip

PERIODS = 2
"""Turns that a cycle may have."""

FEWEST_REPEATS = 3
"""Lowest limit on repetitions: a lower one would stop a model before it is informed."""

RECENT = 4 * PERIODS
"""Messages that are searched for calls that did not run."""

REFUSED: frozenset[CallStatus] = frozenset({"invalid", "unknown_tool", "denied", "duplicate"})
"""How calls end that never ran."""

LONGEST = 200
"""Characters of each call that is named."""


class Repeats(Value):
    """How far the last turns with calls repeat each other.

    ``turns`` are digests of them, the newest last. Of the last turns, ``same[p - 1]`` in a row
    equal the turn that is ``p`` before them. ``note`` is for the model.
    """

    turns: tuple[Digest, ...] = ()
    same: tuple[int, ...] = ()
    note: str = ""

    @property
    def times(self) -> int:
        """How often the last turn, or the last two in alternation, came in a row."""
        if not any(self.same):  # nearly always
            return 1
        return 1 + max(same // p for p, same in enumerate(self.same, 1))

    def after(self, turn: Digest, limit: int) -> Repeats:
        """Count one more turn, with a note for the model from half of the limit on."""
        same = [
            before + 1 if len(self.turns) >= p and self.turns[-p] == turn else 0
            for p, before in enumerate(self.same or (0,) * PERIODS, 1)
        ]
        repeats = Repeats(turns=(*self.turns, turn)[-PERIODS:], same=tuple(same))
        if (limit + 1) // 2 <= repeats.times < limit:
            return repeats.replace(note=_note(repeats.times, limit))
        return repeats


class Done(Struct, frozen=True):
    """A call of a turn, and its result."""

    tool: str
    arguments: str
    status: CallStatus
    content: str


def turn_digest(calls: Sequence[Done]) -> Digest:
    """Return the digest of a turn's calls and their results, without their ids."""
    return digest_of(
        canonical_typed(
            [
                [c.tool, c.arguments, c.status, "" if c.status in REFUSED else c.content]
                for c in calls
            ]
        )
    )


def _note(times: int, limit: int) -> str:
    return (
        f"You have made the same calls {times} times in a row, and nothing about their results has "
        "changed. Do not make them again: try something else, or answer with what you have, and "
        f"say what is missing. After {limit} times this run ends."
    )


def repeated_calls(history: Sequence[Message]) -> str:
    """Return the calls of the last turn, as people read them."""
    calls = next((m.calls for m in reversed(history) if m.calls), ())
    return "; ".join(clip(f"{call.name} {call.arguments}", LONGEST) for call in calls[:3])


def refused_before(history: Sequence[Message]) -> frozenset[tuple[str, str]]:
    """Return the calls of the last turns that did not run: tool and arguments, as written.

    The reply that ends ``history`` is not one of these turns.
    """
    turns = 0
    refused: set[str] = set()
    found: set[tuple[str, str]] = set()
    for message in reversed(history[-RECENT - 1 : -1]):
        called = False
        for block in message.blocks:
            if isinstance(block, ToolResultBlock) and block.status in REFUSED:
                refused.add(block.tool_use_id)
            elif isinstance(block, ToolUseBlock):
                called = True
                if block.id in refused:
                    found.add((block.name, block.arguments))
        turns += called
        if turns == PERIODS:
            break
    return frozenset(found)
