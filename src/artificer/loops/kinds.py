"""The kinds of runs, as a table: how many turns, which prompt, whether artifacts are offered."""

from __future__ import annotations

from dataclasses import dataclass

from artificer.core.spec import RunKind


@dataclass(frozen=True)
class Kind:
    """What sets one kind of run apart from another; the loop is the same."""

    name: RunKind
    turns: int
    prompt: str
    makes_artifacts: bool


KINDS: dict[RunKind, Kind] = {
    "chat": Kind("chat", turns=15, prompt="chat.md", makes_artifacts=False),
    "deliver": Kind("deliver", turns=24, prompt="deliver.md", makes_artifacts=True),
}
"""Turn caps: 15 for a conversation (seed 003), 24 for a deliverable (seed 002)."""
