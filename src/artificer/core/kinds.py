"""The kinds of runs, as a table: how many turns, which prompt, whether artifacts are offered."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from artificer.artifacts.ref import BuildArtifactKind

RunKind = Literal["chat", "deliver", "plan", "spec", "phase", "code", "judge", "build"]
PROMPTED: tuple[RunKind, ...] = ("chat", "deliver")
"""The kinds that people ask for by name. The others belong to builds."""


class Kind(Struct, frozen=True):
    """The settings of one kind of run; the loop is the same for all kinds.

    ``delivers`` is the artifact that it has to deliver. ``max_tokens`` is how long a reply
    may have to be: the largest artifact, and reasoning. ``continuations`` is how often a text that
    was cut off is continued.
    """

    name: RunKind
    turns: int
    prompt: str = ""
    makes_artifacts: bool = False
    delivers: BuildArtifactKind | None = None
    max_tokens: int = 32_000
    continuations: int = 0


KINDS: dict[RunKind, Kind] = {
    "chat": Kind("chat", turns=15, prompt="chat.md", max_tokens=16_000),
    "deliver": Kind(
        "deliver",
        turns=24,
        prompt="deliver.md",
        makes_artifacts=True,
        max_tokens=48_000,
        continuations=8,
    ),
    "plan": Kind("plan", turns=30, delivers="plan"),
    "spec": Kind("spec", turns=30, delivers="spec"),
    "phase": Kind("phase", turns=30, delivers="phase"),
    "code": Kind("code", turns=80, delivers="completion"),
    "judge": Kind("judge", turns=10, delivers="judgement"),
    "build": Kind("build", turns=1),
}
"""The kinds of runs by name. A deliverable takes more turns than a conversation."""
