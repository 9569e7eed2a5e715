"""How far a run has come: what it has used of its limits, and what it waits for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple

from artificer.builds.jobs import AskConsent, AskDecision
from artificer.builds.summary import job_in_words
from artificer.core.intents import AdvanceBuild, AskApproval, CallTool, Compact, Generate
from artificer.core.record import IntentLine, Line
from artificer.core.state import RunState
from artificer.runtime.limits.day_budget import DayBudget
from artificer.studio.words import money, thousands


class Used(NamedTuple):
    """A limit, and how much of it is used: in words, and from 0 to 1."""

    name: str
    text: str
    share: float


class Wait(NamedTuple):
    """Something that a run waits for, and where to see it."""

    text: str
    link: str = ""


def used_of(state: RunState, day: DayBudget) -> Iterator[Used]:
    """Yield the limits of a run, and those of the project's day, that are set."""
    limits, spent = state.run_spec.limits, day.spent.settled
    tokens = state.usage.input_tokens + state.usage.output_tokens
    yield _used("Turns", state.turn - state.turns_before, limits.turns)
    if limits.total_tokens is not None:
        yield _used("Tokens", tokens, limits.total_tokens)
    if limits.cost_micros is not None:
        yield _cost("Cost", state.cost_micros or 0, limits.cost_micros)
    if day.limit.tokens is not None:
        yield _used("Tokens of the project today", spent.tokens, day.limit.tokens)
    if day.limit.micros is not None:
        yield _cost("Cost of the project today", spent.micros, day.limit.micros)


def _used(name: str, used: int, limit: int) -> Used:
    return Used(name, f"{thousands(used)} of {thousands(limit)}", _share(used, limit))


def _cost(name: str, used: int, limit: int) -> Used:
    text = f"{money(Decimal(used) / 1_000_000)} of {money(Decimal(limit) / 1_000_000)}"
    return Used(name, text, _share(used, limit))


def _share(used: int, limit: int) -> float:
    return min(1.0, used / limit) if limit else 1.0


AT_A_WORKER = Wait("a worker, which executes it")
"""A run that was submitted, and that no worker has started."""


def waits_of(state: RunState, lines: Iterable[Line]) -> Iterator[Wait]:
    """Yield what a run waits for: a reply, calls, runs that it has called, a person."""
    open_intents = {pending.n for pending in state.pending}
    children = {wait.intent: wait for wait in state.waits}
    for line in lines:
        if not isinstance(line, IntentLine) or line.intent.n not in open_intents:
            continue
        intent = line.intent
        if (child := children.get(intent.n)) is not None:
            yield Wait(f"the run that it called, which is {child.standing}", f"/runs/{child.run}")
            continue
        match intent:
            case Generate(turn=turn):
                yield Wait(f"the reply of {state.run_spec.full_name} in turn {turn}")
            case Compact():
                yield Wait(f"a summary of the conversation by {state.run_spec.full_name}")
            case CallTool(tool=tool):
                yield Wait(f"the call of {tool}")
            case AskApproval(tool=tool):
                yield Wait(f"your answer about {tool}", "#questions")
            case AdvanceBuild(wish=AskDecision()):
                yield Wait("your decision about the plan", "#questions")
            case AdvanceBuild(wish=AskConsent(check=work)):
                yield Wait(f"your decision about a change of {work.step.path}", "#questions")
            case AdvanceBuild(wish=job):
                yield Wait(job_in_words(job))
            case _:
                pass
