"""A call that did not run, in a line."""

from __future__ import annotations

from artificer.cli.terminal.console import NAME, one_line
from artificer.cli.terminal.words import problem_text
from artificer.events import CallJudged

REASON = 200
"""Characters of a reason that are shown."""


def refused(event: CallJudged) -> str:
    """Return the line about a call that the gate refused: its tool, the verdict and why."""
    why = event.reason or "; ".join(map(problem_text, event.problems))
    word = event.verdict.replace("_", " ")
    tool = one_line(event.tool, NAME)  # the model may have made it up
    return f"  {tool}  {word}  {one_line(why, REASON)}".rstrip()
