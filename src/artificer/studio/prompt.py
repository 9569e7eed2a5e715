"""The form of a prompt: as someone has filled it in, and what it offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from artificer.studio.choices import Choices
from artificer.studio.context import MAX_FILES, StudioContext


@dataclass(frozen=True)
class Draft:
    """A prompt's form as someone has filled it in. ``tools`` is None if all are chosen."""

    prompt: str = ""
    model: str = ""
    other_model: str = ""
    agent: str = ""
    kind: str = ""
    cost: str = ""
    turns: str = ""
    tokens: str = ""
    tools: tuple[str, ...] | None = None
    had_files: bool = False

    @property
    def has_options(self) -> bool:
        """Whether anything but the prompt and the model was chosen."""
        chosen = (self.other_model, self.agent, self.kind, self.cost, self.turns, self.tokens)
        return any(chosen) or self.tools is not None

    @property
    def chosen_model(self) -> str:
        """The model: one that was written counts more than one of the list."""
        return self.other_model or self.model


async def prompt_values(
    context: StudioContext, draft: Draft | None = None, problem: str = ""
) -> dict[str, Any]:
    """Return what the form of a prompt shows."""
    choices = await context.offers.choices()
    models = [model for group in choices.ready for model in group.models]
    return {
        "draft": draft or Draft(),
        "choices": choices,
        "problem": problem,
        "max_files": MAX_FILES,
        "has_model": bool(models) or _may_answer(choices, context),
    }


def _may_answer(choices: Choices, context: StudioContext) -> bool:
    """Whether a run could begin without a model of the list: an agent may bring its own."""
    named = bool(choices.default) and not choices.problem
    return named or any(agent.model is not None for agent in context.agents.values())
