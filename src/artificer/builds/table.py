"""The loops, as a table: what each run of a build owes, may do, and leads to (seed 000)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from artificer.artifacts.ref import BuildArtifactKind

LoopKind = Literal["plan", "spec", "phase", "code"]
Pass = Literal["draft", "completeness", "feasibility", "ordering", "final"]
Size = Literal["brief", "small", "medium", "large"]
Means = Literal["read", "write", "command"]


@dataclass(frozen=True)
class Loop:
    """What sets one kind of run of a build apart; the loop itself is the same.

    ``owes`` is the artifact without which the run has failed, ``attempts`` how many runs in a row
    may fail at it, ``turns`` the model requests of one of them, ``means`` what its tools may do to
    the worktree.
    """

    kind: LoopKind
    owes: BuildArtifactKind
    child: LoopKind | None
    attempts: int
    turns: int
    means: frozenset[Means]

    @property
    def prompt(self) -> str:
        """The file of its instructions."""
        return f"{self.kind}.md"


def _loop(
    kind: LoopKind,
    owes: BuildArtifactKind,
    child: LoopKind | None,
    attempts: int,
    turns: int,
    *means: Means,
) -> Loop:
    return Loop(kind, owes, child, attempts, turns, frozenset(means))


LOOPS: dict[LoopKind, Loop] = {
    "plan": _loop("plan", "plan", "spec", 4, 24, "read"),
    "spec": _loop("spec", "spec", "phase", 4, 24, "read", "command"),
    "phase": _loop("phase", "phase", "code", 4, 24, "read", "command"),
    "code": _loop("code", "completion", None, 6, 60, "read", "write", "command"),
}
"""A plan is made without running anything; only code changes files."""

RUN_TOKENS = 2_000_000
"""Tokens, in and out, that one run of a build may take if nothing else was said."""

BUILD_TOKENS: dict[Size, int] = {
    "brief": 6_000_000,
    "small": 20_000_000,
    "medium": 20_000_000,
    "large": 20_000_000,
}
"""Tokens that all runs of a build may take together if nothing else was said."""

REVIEWS: tuple[Pass, ...] = ("draft", "completeness", "feasibility", "ordering", "final")
"""The passes that look at an artifact before it counts (the Rule of Five)."""

_PASSES: dict[Size, tuple[Pass, ...]] = {
    "brief": ("draft",),
    "small": ("draft",),
    "medium": ("draft", "completeness", "final"),
    "large": REVIEWS,
}


def passes_of(kind: LoopKind, size: Size, chosen: tuple[Pass, ...] | None) -> tuple[Pass, ...]:
    """The passes of an artifact, as chosen, or as many as the size of the work is worth.

    A phase is small by itself and code is not reviewed but validated, so only plans and specs
    have more than a draft unless that was chosen.
    """
    if kind == "code" or (chosen is None and kind == "phase"):
        return ("draft",)
    wanted = _PASSES[size] if chosen is None else chosen
    return ("draft", *(p for p in REVIEWS if p in wanted and p != "draft"))
