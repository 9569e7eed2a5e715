"""The table of steps: the artifact and the rights of each kind of run of a build."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from artificer.artifacts.ref import BuildArtifactKind

StepKind = Literal["plan", "spec", "phase", "code"]
Pass = Literal["draft", "completeness", "feasibility", "ordering", "final"]
Size = Literal["brief", "small", "medium", "large"]
Means = Literal["read", "write", "command"]


class StepRules(Struct, frozen=True):
    """The rules of one kind of run; the run loop is the same for all.

    ``delivers`` is the artifact that the run has to deliver, ``attempts`` how many runs may fail at
    it, ``means`` the rights of its tools in the worktree. Turns are limited by `KINDS` of the core.
    """

    kind: StepKind
    delivers: BuildArtifactKind
    attempts: int
    means: frozenset[Means]

    @property
    def prompt(self) -> str:
        """The file with its instructions."""
        return f"{self.kind}.md"


def _rules(kind: StepKind, delivers: BuildArtifactKind, attempts: int, *means: Means) -> StepRules:
    return StepRules(kind, delivers, attempts, frozenset(means))


STEP_RULES: dict[StepKind, StepRules] = {
    "plan": _rules("plan", "plan", 4, "read"),
    "spec": _rules("spec", "spec", 4, "read", "command"),
    "phase": _rules("phase", "phase", 4, "read", "command"),
    "code": _rules("code", "completion", 6, "read", "write", "command"),
}
"""Planning runs no commands, and only code runs change files."""

RUN_TOKENS = 2_000_000
"""Default limit of input and output tokens for one run of a build."""

BUILD_TOKENS: dict[Size, int] = {
    "brief": 6_000_000,
    "small": 20_000_000,
    "medium": 20_000_000,
    "large": 20_000_000,
}
"""Default limit of tokens for all runs of a build together."""

REVIEWS: tuple[Pass, ...] = ("draft", "completeness", "feasibility", "ordering", "final")
"""The review passes of an artifact before it counts (the Rule of Five)."""

_PASSES: dict[Size, tuple[Pass, ...]] = {
    "brief": ("draft",),
    "small": ("draft",),
    "medium": ("draft", "completeness", "final"),
    "large": REVIEWS,
}


def passes_of(kind: StepKind, size: Size, chosen: tuple[Pass, ...] | None) -> tuple[Pass, ...]:
    """Return the chosen passes of an artifact, or the default for the size of the work.

    A phase is small, and code is validated instead of reviewed, so only plans and specs have more
    than a draft by default.
    """
    if kind == "code" or (chosen is None and kind == "phase"):
        return ("draft",)
    wanted = _PASSES[size] if chosen is None else chosen
    return ("draft", *(p for p in REVIEWS if p in wanted and p != "draft"))
