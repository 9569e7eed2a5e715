"""``artificer build promote``: bring a build's work into the project's own repository."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from artificer.cli.commands.build import PromoteOptions
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import complain, note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.runtime.builds.promote import current_branch

_RESULTS = {
    "branch": "made the branch {branch}",
    "promoted": "merged {branch} into {into}",
    "already": "{into} contains it already",
    "conflict": "nothing was merged: {branch} and {into} conflict",
    "invalid": "nothing was merged: validation fails after a merge with the present {into}",
    "refused": "nothing was merged: {into} cannot be moved",
}

_NEXT_STEPS = {
    "conflict": "Run `git merge {branch}` and resolve the conflicts.",
    "invalid": "The work is in the branch {branch}: merge and fix it, or start another build.",
    "refused": "Remove the obstacle, then: artificer build promote {run}",
}


async def promote(settings: Settings, options: PromoteOptions) -> Exit:
    """Create the build's branch, merge it, and print the commit."""
    if options.no_merge and options.into:
        raise click.UsageError("--no-merge and --into exclude each other.")
    async with opened_run(settings, options.run) as (world, run_id):
        project = Path((await world.get(run_id)).state.run_spec.project)
        target = None if options.no_merge else options.into or await current_branch(project)
        done = await world.builds.promote(run_id, branch=options.branch, into=target)
    if options.as_json:
        out_json(asdict(done))
    else:
        out(done.commit)
    if done.warning:
        note(done.warning, "bad")
    result = _RESULTS[done.status].format(branch=done.branch, into=target)
    if done.status in ("branch", "promoted", "already"):
        note(result, "good")
        return Exit.OK
    report = done.report.strip().removeprefix("error: ")
    next_step = _NEXT_STEPS[done.status].format(branch=done.branch, run=run_id)
    complain(f"{result}. {report}".strip(), next_step)
    return Exit.WRONG
