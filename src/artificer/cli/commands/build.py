"""The commands that make software."""

from __future__ import annotations

from difflib import get_close_matches
from inspect import cleandoc
from pathlib import Path
from typing import Literal

import click

from artificer.cli.commands.candidates import models_option
from artificer.cli.commands.numbers import WholeOption
from artificer.cli.commands.shared import (
    DOLLARS,
    EXISTING_FILE,
    EXISTING_FOLDER,
    POSITIVE,
    ReplyLimit,
    RunOption,
    UnattendedOption,
    json_flag,
)
from artificer.cli.declare import Command, argument, option, options

SIZES = ("small", "medium", "large")
REVIEW_PASSES = ("completeness", "feasibility", "ordering", "final")
JUDGED_KINDS = ("plan", "spec", "phase")
ACCEPTED_CONCERNS = ("regression", "old-failure")


@options
class StartOptions(ReplyLimit, UnattendedOption):
    """Build what PROMPT asks for; `-` reads it from stdin. The word `start` is optional.

    A plan is written first. You read it and approve it, reject it, or say what to change; without
    a terminal the build waits for `artificer build approve`. Then its specs are detailed, coded,
    validated and merged, independent ones in parallel. Ctrl-C leaves a build that
    `artificer resume` continues.

    \b
    Examples:
      artificer build "Add an option --json to report.py" --brief --validation "python -m pytest -q"
      artificer build - --repo ../shop --size large --judge plan < prompt.md
    """

    prompt: str = argument()
    repo: Path = option(
        type=EXISTING_FOLDER, default=Path(), help="The project. Default: this folder."
    )
    model: tuple[str, ...] = models_option("For example anthropic/claude-sonnet-5-5.")
    brief: bool = option(is_flag=True, help="No plan: a single code run, for a small change.")
    validation: str | None = option(
        metavar="COMMAND", help="With --brief: the command that validates the change."
    )
    size: Literal["small", "medium", "large"] | None = option(
        type=click.Choice(SIZES),
        help="How often plans and specs are reviewed: not at all, twice (medium, the default), or"
        " four times.",
    )
    passes: tuple[Literal["completeness", "feasibility", "ordering", "final"], ...] = option(
        "--pass",
        type=click.Choice(REVIEW_PASSES),
        multiple=True,
        help="Review plans and specs in exactly these passes; repeatable.",
    )
    judge: tuple[Literal["plan", "spec", "phase"], ...] = option(
        type=click.Choice(JUDGED_KINDS),
        multiple=True,
        help="Have a judge accept these artifacts; repeatable.",
    )
    parallel: int = option(
        type=WholeOption(1, 16),
        default=3,
        show_default=True,
        metavar="N",
        help="Specs worked on in parallel.",
    )
    attempts: int | None = option(
        type=WholeOption(1, 50), metavar="N", help="Limit on attempts at one artifact."
    )
    runs: int = option(
        type=POSITIVE, default=200, show_default=True, metavar="N", help="Limit on runs."
    )
    max_turns: int | None = option(
        type=POSITIVE, metavar="N", help="Limit on the turns of a code run. Default: 80."
    )
    max_run_tokens: int | None = option(
        type=POSITIVE, metavar="N", help="Limit on the tokens of each run. Default: 2,000,000."
    )
    total_tokens: int | None = option(
        type=POSITIVE,
        metavar="N",
        help="Limit on the tokens of all runs. Default: 20,000,000; brief 6,000,000.",
    )
    max_cost: float | None = option(type=DOLLARS, help="Limit on the dollars of all runs.")
    yes: bool = option(is_flag=True, help="Approve the plan without showing it, and nothing else.")
    agree: tuple[str, ...] = option(
        type=click.Choice(ACCEPTED_CONCERNS),
        multiple=True,
        help="Accept changes whose validation passed before (regression) or fails as before"
        " (old-failure); repeatable.",
    )
    as_json: bool = json_flag("Print the outcome as one JSON object.")
    local_model: Path | None = option(
        type=EXISTING_FILE, help="The GGUF file of the provider `local`."
    )


@options
class PlanOptions(RunOption):
    """Show the plan of RUN, and the digest that an approval refers to.

    \b
    Example:
      artificer build plan last
    """

    as_json: bool = json_flag("Print the plan as it is stored.")


@options
class DecisionOptions(RunOption):
    """The plan or change that a decision is about."""

    digest: str = option(
        "--plan",
        "--change",
        metavar="DIGEST",
        default="",
        help="The plan or change to decide about, or the start of its digest.",
    )


@options
class ApprovePlanOptions(DecisionOptions):
    """Approve the plan or the change that RUN waits for; then resume the build.

    The approval applies to exactly this plan or change. `artificer build plan RUN` and
    `artificer build review RUN` show them with their digests.

    \b
    Example:
      artificer build approve last --plan sha256:3f2a && artificer resume last
    """


@options
class RejectPlanOptions(DecisionOptions):
    """Reject the plan that RUN waits with, which ends the build; a revision is only dropped.

    Rejecting a change makes it a failed attempt; the next attempt sees the reason.

    \b
    Example:
      artificer build reject last --reason "We buy it instead."
    """

    reason: str = option(default="", help="The reason; it is recorded.")


@options
class IterateOptions(DecisionOptions):
    """Request another plan, based on the one that RUN waits with and on FEEDBACK.

    \b
    Example:
      artificer build iterate last "Keep the list in SQLite." && artificer resume last
    """

    feedback: str = argument()


@options
class ReviewOptions(RunOption):
    """Show the changes of RUN that need your consent, and why.

    A change needs consent if it touches a control file, weakens tests, rewrites the command
    that validates it, or passed a validation that passed before.

    \b
    Example:
      artificer build review last && artificer build approve last && artificer resume last
    """

    as_json: bool = json_flag("Print a JSON array.")


@options
class ReviseOptions(RunOption):
    """Request another plan after work on RUN started.

    Work continues until the new plan is approved. Then everything that depends on what the new plan
    changes is archived and started again; the rest is kept.

    \b
    Example:
      artificer build revise last "The list needs due dates."
    """

    feedback: str = argument()


@options
class RetryOptions(RunOption):
    """Retry a failed SPEC of RUN with the full number of attempts; without SPEC, the plan.

    A retry also lets the build start as many runs as at first; without SPEC too, if it has
    started them all.

    \b
    Example:
      artificer build retry last store --hint "Python is 3.11." && artificer resume last
    """

    spec: str = argument(default="")
    hint: str = option(default="", help="Advice for the next attempt.")


@options
class PromoteOptions(RunOption):
    """Bring RUN's work into its project as the branch build/RUN, and merge it into yours.

    If your branch has new commits, the result of the merge is validated first. Uncommitted files
    are never touched: if one is in the way, your branch does not change and the command says so.

    \b
    Examples:
      artificer build promote last
      artificer build promote last --no-merge --branch todo-list
    """

    into: str | None = option(metavar="BRANCH", help="Default: the branch that is checked out.")
    branch: str | None = option(metavar="NAME", help="The name of the build's own branch.")
    no_merge: bool = option(is_flag=True, help="Only create the branch; merge it yourself.")
    as_json: bool = json_flag("Print the result as a JSON object.")


class BuildGroup(click.Group):
    """A group whose first word is a task, unless it is one of its commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """``artificer build "PROMPT"`` is ``artificer build start "PROMPT"``.

        A word that is nearly a command is refused, rather than sent to a model as a task.
        """
        if args and args[0] not in self.commands:
            if near := get_close_matches(args[0], self.commands, n=1, cutoff=0.75):
                raise click.UsageError(
                    f"{args[0]!r} is not a command. Did you mean {near[0]!r}? To build software "
                    f"of that name: artificer build start {args[0]}",
                    ctx,
                )
            args = ["start", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options before the task are those of ``start``, except ``--help``."""
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help"):
            args = ["start", *args]
        return super().parse_args(ctx, args)


build = BuildGroup(
    "build",
    help=cleandoc(
        """Build software: plan, specs, phases, code, each checked before the next starts.

        The build works in a copy of the project's git repository. Your files are not touched until
        `artificer build promote`. You approve the plan before anything is built.

        \b
        Examples:
          artificer build "A command line to-do list in Python, with tests" --repo ./todo
          artificer build plan last && artificer build approve last && artificer resume last
          artificer build promote last
        """
    ),
    commands=[
        Command("start", StartOptions, "build.start:start"),
        Command("plan", PlanOptions, "build.plan:plan"),
        Command("approve", ApprovePlanOptions, "build.decide:approve"),
        Command("reject", RejectPlanOptions, "build.decide:reject"),
        Command("iterate", IterateOptions, "build.decide:iterate"),
        Command("review", ReviewOptions, "build.review:review"),
        Command("revise", ReviseOptions, "build.revise:revise"),
        Command("retry", RetryOptions, "build.revise:retry"),
        Command("promote", PromoteOptions, "build.promote:promote"),
    ],
)
