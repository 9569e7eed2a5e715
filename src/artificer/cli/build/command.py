"""``artificer build``: software from a request, in a copy of a repository, for a person to take."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from artificer.builds.facts import AGREED, BuildOptions
from artificer.builds.table import (
    BUILD_TOKENS,
    LOOPS,
    REVIEWS,
    RUN_TOKENS,
    LoopKind,
    Pass,
    Size,
)
from artificer.cli.build.plan import plan
from artificer.cli.build.promote import promote
from artificer.cli.build.review import review
from artificer.cli.build.signals import approve, iterate, reject, retry, revise
from artificer.cli.common.attend import MODEL_FILE, UNATTENDED, attend
from artificer.cli.common.limits import MAX_TOKENS, limits_said
from artificer.cli.common.outcome import Wish
from artificer.cli.common.prompt import read_prompt
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note
from artificer.cli.terminal.words import count
from artificer.core.spec import Limits
from artificer.ports import Approver
from artificer.runs import Run

if TYPE_CHECKING:
    from artificer.cli.common.progress import Progress
    from artificer.world import World

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


class BuildGroup(click.Group):
    """A group whose first word is a request, unless it is one of its commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """``artificer build "TASK"`` is ``artificer build start "TASK"``.

        A word that is nearly a command is refused: a model would be asked what to make of it.
        """
        if args and args[0] not in self.commands:
            if near := get_close_matches(args[0], self.commands, n=1, cutoff=0.75):
                raise click.UsageError(
                    f"{args[0]!r} is no command. Did you mean {near[0]!r}? To have software of "
                    f"that name made, say: artificer build start {args[0]}",
                    ctx,
                )
            args = ["start", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options before the request are those of ``start``, but for ``--help``."""
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help"):
            args = ["start", *args]
        return super().parse_args(ctx, args)


@click.group(name="build", cls=BuildGroup)
def command() -> None:
    """Make software: plan, specs, phases, code, each checked before the next begins.

    It works in a copy of the project's git repository. Nothing of yours is touched before
    `artificer build promote`. You approve the plan before anything is built.

    \b
    Examples:
      artificer build "A command line to-do list in Python, with tests" --repo ./todo
      artificer build plan last && artificer build approve last && artificer resume last
      artificer build promote last
    """


for other in (plan, approve, reject, iterate, review, revise, retry, promote):
    command.add_command(other)


@command.command(name="start")
@click.argument("task")
@click.option("--repo", type=FOLDER, default=Path(), help="The project. Default: this folder.")
@click.option("--model", metavar="PROVIDER/MODEL", help="For example anthropic/claude-sonnet-4-5.")
@click.option("--brief", is_flag=True, help="No plan: one code run, for a small job.")
@click.option("--check", metavar="COMMAND", help="With --brief: what validates it.")
@click.option(
    "--size",
    type=click.Choice(("small", "medium", "large")),
    default="medium",
    show_default=True,
    help="How often plans and specs are reviewed: not at all, twice, four times.",
)
@click.option(
    "--pass",
    "passes",
    type=click.Choice(REVIEWS[1:]),
    multiple=True,
    help="Review plans and specs in exactly these passes; repeatable.",
)
@click.option(
    "--judge",
    type=click.Choice([kind for kind in LOOPS if kind != "code"]),
    multiple=True,
    help="Have a judge accept these artifacts; repeatable.",
)
@click.option("--parallel", type=click.IntRange(1, 16), default=3, show_default=True, metavar="N")
@click.option("--attempts", type=click.IntRange(1, 50), metavar="N", help="At one artifact.")
@click.option("--runs", type=click.IntRange(1), default=200, show_default=True, metavar="N")
@click.option(
    "--max-turns", type=click.IntRange(1), metavar="N", help="Turns of a code run. Default: 80."
)
@click.option(
    "--max-run-tokens",
    type=click.IntRange(1),
    metavar="N",
    help=f"Tokens of each run. Default: {RUN_TOKENS:,}.",
)
@click.option(
    "--total-tokens",
    type=click.IntRange(1),
    metavar="N",
    help=f"Tokens of all runs together. Default: {BUILD_TOKENS['medium']:,}; brief"
    f" {BUILD_TOKENS['brief']:,}.",
)
@click.option(
    "--max-cost", type=click.FloatRange(min=0.000_001), help="Dollars, all runs together."
)
@MAX_TOKENS
@click.option("--yes", is_flag=True, help="Approve the plan unseen, and nothing else.")
@click.option(
    "--agree",
    type=click.Choice([kind.replace("_", "-") for kind in AGREED]),
    multiple=True,
    help="Let changes count though the check passed before (regression), or fails as before"
    " (old-failure); repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON object.")
@click.option("--local-model", type=MODEL_FILE, help="A GGUF file for the provider `local`.")
@UNATTENDED
@pass_settings
def start(
    settings: Settings,
    task: str,
    repo: Path,
    model: str | None,
    brief: bool,
    check: str | None,
    size: Size,
    passes: tuple[Pass, ...],
    judge: tuple[LoopKind, ...],
    parallel: int,
    attempts: int | None,
    runs: int,
    max_turns: int | None,
    max_run_tokens: int | None,
    total_tokens: int | None,
    max_cost: float | None,
    max_tokens: int | None,
    yes: bool,
    agree: tuple[str, ...],
    as_json: bool,
    local_model: Path | None,
    unattended: bool,
) -> int:
    """Build TASK; `-` reads it from stdin. The word `start` may be left out.

    A plan is made first. You are shown it and approve, reject, or say what to change; without a
    terminal the build waits for `artificer build approve`. Then its specs are detailed, coded,
    validated and merged, independent ones at the same time. Ctrl-C leaves a build that
    `artificer resume` goes on with.

    \b
    Examples:
      artificer build "Add an option --json to report.py" --brief --check "python -m pytest -q"
      artificer build - --repo ../shop --size large --judge plan < request.md
    """
    text = read_prompt(task)
    options = BuildOptions(
        size="brief" if brief else size,
        passes=("draft", *passes) if passes else None,
        judge=judge,
        parallel=parallel,
        attempts=attempts,
        runs=runs,
        turns=max_turns,
        run_tokens=max_run_tokens,
        agreed=tuple(kind for kind in AGREED if kind.replace("_", "-") in agree),
    )
    said = limits_said(tokens=max_tokens, dollars=max_cost)
    if total_tokens is not None:
        said["total_tokens"] = total_tokens

    async def begin(world: World, progress: Progress, approver: Approver | None) -> Run:
        from artificer.cli.common.build_decide import decider_here
        from artificer.wiring.sandbox import held_by

        await _tell_uncommitted(repo)
        note(held_by(world.config))
        return await world.build(
            text,
            project=repo,
            model=model,
            options=options,
            check=check,
            limits=Limits.model_validate(said) if said else None,
            decider=decider_here(progress.screen, yes=yes),
            approver=approver,
            observer=progress,
        )

    return attend(settings, begin, Wish(None, as_json), local_model, unattended=unattended)


async def _tell_uncommitted(repo: Path) -> None:
    """Say what of the project a build does not see."""
    from artificer.errors import ArtificerError
    from artificer.runtime.builds.promote import uncommitted

    try:
        changed = await uncommitted(repo)
    except ArtificerError:
        return  # it is not a repository: the build says so when it begins
    if changed:
        some = ", ".join(changed[:3]) + (", …" if len(changed) > 3 else "")
        note(f"{count(len(changed), 'file')} not committed, so not seen by the build: {some}")
