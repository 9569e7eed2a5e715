"""Deciding about a plan or a change: at the terminal, in advance, or by a letter."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from artificer.artifacts.plan import Plan
from artificer.builds.facts import ConsentGiven, Decided
from artificer.builds.gist import gist
from artificer.builds.jobs import AskConsent, AskDecision
from artificer.cli.common.ask_here import read_line, who
from artificer.cli.terminal.console import clean, styled
from artificer.cli.terminal.screen import Screen

if TYPE_CHECKING:
    from artificer.runtime.builds.builder import Decider

Decision = Literal["approve", "reject", "iterate"]


class Yes:
    """Approves every plan, because somebody said so in advance (build.builder.Decider).

    It agrees to no change with concerns: nobody has seen that, so the build waits.
    """

    async def decide(self, run: str, plan: Plan, wish: AskDecision) -> Decided:
        """Approve."""
        return Decided(key=wish.key, digest=wish.digest, decision="approve", by=f"{who()} --yes")

    async def consent(self, run: str, wish: AskConsent, diff: str) -> None:
        """Leave it to a person."""


class TerminalDecider:
    """Shows the plan on stderr and reads the decision from stdin (build.builder.Decider)."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    async def decide(self, run: str, plan: Plan, wish: AskDecision) -> Decided:
        """Show the plan and wait for ``approve``, ``reject``, or what is to be changed."""
        with self._screen.paused():
            _show(plan, wish.digest)
            words = ""
            while not words:
                sys.stderr.write("  [approve / reject / what to change] ")
                sys.stderr.flush()
                words = (await read_line()).strip()
        decision, reason = read_decision(words)
        return Decided(key=wish.key, digest=wish.digest, decision=decision, by=who(), reason=reason)

    async def consent(self, run: str, wish: AskConsent, diff: str) -> ConsentGiven:
        """Show the concerns and the change, and wait for yes or no."""
        with self._screen.paused():
            sys.stderr.write("\n" + "\n".join(clean(line) for line in lines_of(wish, diff)) + "\n")
            words = ""
            while words.lower() not in _ANSWERS:
                sys.stderr.write("  Agree to this change? [yes / no] ")
                sys.stderr.flush()
                words = (await read_line()).strip()
        granted = _ANSWERS[words.lower()]
        reason = "" if granted else "Rejected at the terminal."
        return ConsentGiven(
            key=wish.key, digest=wish.digest, granted=granted, by=who(), reason=reason
        )


_ANSWERS = {"y": True, "yes": True, "approve": True, "n": False, "no": False, "reject": False}

MOST_LINES = 400
"""Lines of a diff that are shown to somebody who is asked."""


def lines_of(wish: AskConsent, diff: str, most: int = MOST_LINES) -> Iterator[str]:
    """A change that somebody is to agree to: what is wrong with it, and all of it."""
    yield f"{wish.step.path} needs your consent:"
    yield from (f"  - {concern.text}" for concern in wish.checked.concerns)
    if wish.checked.report:
        yield from ("", gist(wish.checked.report))
    yield ""
    lines = diff.splitlines()
    yield from lines[:most]
    if len(lines) > most:
        yield f"… {len(lines) - most} more lines"
    yield f"change {wish.digest}"


def read_decision(words: str) -> tuple[Decision, str]:
    """What somebody answered: one of the two words, or what the plan is to be changed in."""
    match words.lower():
        case "a" | "approve" | "y" | "yes":
            return "approve", ""
        case "r" | "reject" | "n" | "no":
            return "reject", "Rejected at the terminal."
        case _:
            return "iterate", words


def decider_here(screen: Screen, *, yes: bool = False) -> Decider | None:
    """Who decides about plans here. Without one, a plan waits for ``artificer build approve``."""
    if yes:
        return Yes()
    return TerminalDecider(screen) if sys.stdin.isatty() and sys.stderr.isatty() else None


def _show(plan: Plan, digest: str) -> None:
    from artificer.render.build_artifacts import build_artifact_markdown

    sys.stderr.write(f"\n{clean(build_artifact_markdown(plan))}\n")
    sys.stderr.write(styled("Approve this plan?", "strong", sys.stderr) + f"  {digest}\n")
