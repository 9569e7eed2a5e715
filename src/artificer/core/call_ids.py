"""The ids of a run's calls: each of them unique, and fit to be sent to any provider."""

from __future__ import annotations

from collections.abc import Set

from artificer.values.blocks import Block, ToolUseBlock

MAX_CHARACTERS = 64

_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def with_unique_ids(blocks: tuple[Block, ...], used: Set[str], turn: int) -> tuple[Block, ...]:
    """Give a call an id of ours when the provider's is missing, odd, or was used before."""
    taken = set(used)
    result: list[Block] = []
    for number, block in enumerate(blocks):
        if isinstance(block, ToolUseBlock):
            if not _usable(block.id) or block.id in taken:
                block = block.model_copy(update={"id": _ours(turn, number, taken)})
            taken.add(block.id)
        result.append(block)
    return tuple(result)


def _usable(call_id: str) -> bool:
    return 0 < len(call_id) <= MAX_CHARACTERS and _CHARACTERS.issuperset(call_id)


def _ours(turn: int, number: int, taken: Set[str]) -> str:
    ours = f"call_{turn}_{number}"
    while ours in taken:  # a model may write ids that look like ours
        ours += "_"
    return ours
