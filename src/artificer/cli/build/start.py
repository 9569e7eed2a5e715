"""``artificer build``: software from a task, in a copy of a repository."""

from __future__ import annotations

from pathlib import Path

from artificer.agent import Agent
from artificer.builds.brief import Brief
from artificer.builds.facts import AGREED, BuildOptions
from artificer.cli.commands.build import StartOptions
from artificer.cli.commands.shared import ExecutionOptions, OutcomeOptions
from artificer.cli.execution.decider import decider_for
from artificer.cli.execution.follow import following_run
from artificer.cli.execution.limits import limits_in
from artificer.cli.execution.outcome import deliver
from artificer.cli.execution.prompt import read_prompt
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import approver_for
from artificer.cli.terminal.console import note
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.core.spec import Limits
from artificer.errors import ArtificerError, ConfigError
from artificer.runtime.builds.promote import uncommitted
from artificer.wiring.build_sandbox import held_by


async def start(settings: Settings, options: StartOptions) -> Exit:
    """Build software and deliver the outcome."""
    if options.validation is not None and not options.brief:
        raise ConfigError(
            "Only a brief build takes a validation command; otherwise each phase has its own.",
            hint="Add --brief, or leave out --validation.",
        )
    if options.brief:
        _refuse_reviews(options)
    prompt = read_prompt(options.prompt)
    limits = limits_in(tokens=options.max_tokens, dollars=options.max_cost)
    if options.total_tokens is not None:
        limits["total_tokens"] = options.total_tokens
    execution = ExecutionOptions(local_model=options.local_model, compat=False)
    with following_run(settings) as progress:
        async with opened_world(settings, execution) as world:
            await _note_uncommitted(options.repo)
            note(held_by(world.config))
            finished = await world.build(
                Brief(prompt, options.validation) if options.brief else prompt,
                Agent(model=options.model or None, limits=Limits(**limits) if limits else None),
                project=options.repo,
                options=_build_options(options),
                decider=decider_for(progress.screen, yes=options.yes),
                approver=approver_for(progress.screen, unattended=options.unattended),
                observer=progress,
            )
            outcome = OutcomeOptions(out=None, as_json=options.as_json)
            return await deliver(world, finished, progress, outcome)


def _refuse_reviews(options: StartOptions) -> None:
    """Refuse what would do nothing: a brief build has no plan and no specs."""
    reviews = {"--size": options.size, "--pass": options.passes, "--judge": options.judge}
    if useless := [name for name, value in reviews.items() if value]:
        raise ConfigError(
            f"A brief build has no plan to review: {' and '.join(useless)} would do nothing.",
            hint="Leave that out, or leave out --brief.",
        )


def _build_options(options: StartOptions) -> BuildOptions:
    return BuildOptions(
        size=options.size or "medium",
        passes=("draft", *options.passes) if options.passes else None,
        judge=options.judge,
        parallel=options.parallel,
        attempts=options.attempts,
        runs=options.runs,
        turns=options.max_turns,
        run_tokens=options.max_run_tokens,
        agreed=tuple(kind for kind in AGREED if kind.replace("_", "-") in options.agree),
    )


async def _note_uncommitted(repo: Path) -> None:
    """List the changes in the project that the build does not see."""
    try:
        changed = await uncommitted(repo)
    except ArtificerError:
        return  # not a repository: the build says so when it starts
    if changed:
        some = ", ".join(changed[:3]) + (", …" if len(changed) > 3 else "")
        note(f"{count(len(changed), 'file')} not committed, so not part of the build: {some}")
