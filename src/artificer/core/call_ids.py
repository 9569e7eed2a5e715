"""The ids of a run's calls: each of them unique, and fit to be sent to any provider."""

from __future__ import annotations

from collections.abc import Iterable, Set

from artificer.values.blocks import Block, ToolUseBlock

MAX_CHARACTERS = 64

_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")

CallIds = tuple[frozenset[str], ...]
"""Every id of a run, in sets, each larger than the next: adding to one set would copy
all that were used before, at every turn."""


def with_ids(used: CallIds, added: Iterable[str]) -> CallIds:
    """Add ids. Each of them is copied no more often than its run's calls can be doubled."""
    newest = frozenset(added)
    while used and len(used[-1]) <= len(newest):
        newest |= used[-1]
        used = used[:-1]
    return (*used, newest) if newest else used


def with_unique_ids(blocks: tuple[Block, ...], used: CallIds, turn: int) -> tuple[Block, ...]:
    """Assign a new id to a call if the provider's is missing, odd, or already used."""
    fresh: set[str] = set()
    taken = (*used, fresh)
    result: list[Block] = []
    for number, block in enumerate(blocks):
        if type(block) is ToolUseBlock:
            if not _usable(block.id) or _is_in(taken, block.id):
                block = block.replace(id=_ours(turn, number, taken))
            fresh.add(block.id)
        result.append(block)
    return tuple(result)


def _usable(call_id: str) -> bool:
    return 0 < len(call_id) <= MAX_CHARACTERS and _CHARACTERS.issuperset(call_id)


def _is_in(taken: Iterable[Set[str]], call_id: str) -> bool:
    return True in [call_id in ids for ids in taken]


def _ours(turn: int, number: int, taken: Iterable[Set[str]]) -> str:
    ours = f"call_{turn}_{number}"
    while _is_in(taken, ours):  # a model may write ids that look like ours
        ours += "_"
    return ours
