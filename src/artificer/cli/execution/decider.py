"""Deciding about a plan or a change: at the terminal, or in advance."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from artificer.artifacts.plan import Plan
from artificer.builds.facts import ConsentGiven, Decided, PlanDecision
from artificer.builds.gist import gist
from artificer.builds.jobs import AskConsent, AskDecision
from artificer.cli.terminal.approver import read_line, user_name
from artificer.cli.terminal.console import clean, styled
from artificer.cli.terminal.screen import Screen
from artificer.cli.terminal.words import count
from artificer.values.text import split_lines

if TYPE_CHECKING:
    from artificer.runtime.builds.builder import Decider


class PlanApprover:
    """Approves every plan, as ``--yes`` says (runtime.builds.builder.Decider).

    It consents to no change with concerns: nobody has seen it, so the build waits.
    """

    async def decide(self, run: str, plan: Plan, job: AskDecision) -> Decided:
        """Approve."""
        return Decided(
            key=job.key, digest=job.digest, decision="approve", by=f"{user_name()} --yes"
        )

    async def consent(self, run: str, job: AskConsent, diff: str) -> None:
        """Let the build wait."""


class TerminalDecider:
    """Shows a plan on stderr and reads the decision from stdin (runtime.builds.builder.Decider)."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    async def decide(self, run: str, plan: Plan, job: AskDecision) -> Decided:
        """Show the plan and wait for ``approve``, ``reject``, or a request for changes."""
        with self._screen.paused():
            _show(plan, job.digest)
            words = ""
            while not words:
                sys.stderr.write("  [approve / reject / what to change] ")
                sys.stderr.flush()
                words = (await read_line()).strip()
        decision, reason = read_decision(words)
        return Decided(
            key=job.key, digest=job.digest, decision=decision, by=user_name(), reason=reason
        )

    async def consent(self, run: str, job: AskConsent, diff: str) -> ConsentGiven:
        """Show the concerns and the change, and wait for yes or no."""
        with self._screen.paused():
            sys.stderr.write("\n" + "\n".join(clean(line) for line in lines_of(job, diff)) + "\n")
            words = ""
            while words.lower() not in _ANSWERS:
                sys.stderr.write("  Accept this change? [yes / no] ")
                sys.stderr.flush()
                words = (await read_line()).strip()
        granted = _ANSWERS[words.lower()]
        reason = "" if granted else "Rejected at the terminal."
        return ConsentGiven(
            key=job.key, digest=job.digest, granted=granted, by=user_name(), reason=reason
        )


_ANSWERS = {"y": True, "yes": True, "approve": True, "n": False, "no": False, "reject": False}

MAX_DIFF_LINES = 400
"""Lines of a diff that are shown with a question."""


def lines_of(job: AskConsent, diff: str, limit: int = MAX_DIFF_LINES) -> Iterator[str]:
    """A change that needs consent: the concerns, and the diff."""
    yield f"{job.step.path} needs your consent:"
    yield from (f"  - {concern.text}" for concern in job.checked.concerns)
    if job.checked.report:
        yield from ("", gist(job.checked.report))
    yield ""
    lines = split_lines(diff)
    yield from lines[:limit]
    if len(lines) > limit:
        yield f"… {count(len(lines) - limit, 'more line')}"
    yield f"change {job.digest}"


def read_decision(words: str) -> tuple[PlanDecision, str]:
    """Return the decision in an answer: one of the two words, or a request for changes."""
    match words.lower():
        case "a" | "approve" | "y" | "yes":
            return "approve", ""
        case "r" | "reject" | "n" | "no":
            return "reject", "Rejected at the terminal."
        case _:
            return "iterate", words


def decider_for(screen: Screen, *, yes: bool = False) -> Decider | None:
    """Return a decider about plans and changes.

    Return None without a terminal: a plan then waits for ``artificer build approve``.
    """
    if yes:
        return PlanApprover()
    return TerminalDecider(screen) if sys.stdin.isatty() and sys.stderr.isatty() else None


def _show(plan: Plan, digest: str) -> None:
    from artificer.render.build_artifacts import build_artifact_markdown

    sys.stderr.write(f"\n{clean(build_artifact_markdown(plan))}\n")
    sys.stderr.write(styled("Approve this plan?", "strong", sys.stderr) + f"  {digest}\n")
