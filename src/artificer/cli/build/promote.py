"""``artificer build promote``: a build's work into the project's own repository."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from artificer.cli.common.drive import in_world
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import complain, note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.world import World

_SAID = {
    "branch": "made the branch {branch}",
    "promoted": "merged {branch} into {into}",
    "already": "{into} holds it already",
    "conflict": "nothing was merged: {branch} and {into} conflict",
    "invalid": "nothing was merged: with {into} as it is now, its validation fails",
    "refused": "nothing was merged: {into} cannot be moved",
}

_NEXT = {
    "conflict": "`git merge {branch}`, and resolve them: the work is in that branch.",
    "invalid": "The work is in the branch {branch}: merge and mend it, or begin a build on top.",
    "refused": "Clear the way, then: artificer build promote {run}",
}


@click.command(name="promote", short_help="Bring the work into your branch.")
@click.argument("run")
@click.option("--into", metavar="BRANCH", help="Default: the branch that is checked out.")
@click.option("--branch", metavar="NAME", help="What the build's own branch is called.")
@click.option("--no-merge", is_flag=True, help="Only make the branch; merge it yourself.")
@click.option("--json", "as_json", is_flag=True, help="Print what came of it as a JSON object.")
@pass_settings
def promote(
    settings: Settings,
    run: str,
    into: str | None,
    branch: str | None,
    no_merge: bool,
    as_json: bool,
) -> int:
    """Bring what RUN built into its project: as the branch build/RUN, merged into yours.

    If your branch has gone on since, the two are merged and validated first. Nothing uncommitted
    is touched: where something is in the way, nothing changes and you are told why.

    \b
    Examples:
      artificer build promote last
      artificer build promote last --no-merge --branch todo-list
    """
    if no_merge and into:
        raise click.UsageError("--no-merge and --into exclude each other.")

    async def work(world: World) -> Exit:
        from artificer.runtime.builds.promote import current_branch

        run_id = await world.find(run)
        project = Path((await world.get(run_id)).run.state.given.project)
        target = None if no_merge else into or await current_branch(project)
        done = await world.promote(run_id, branch=branch, into=target)
        if as_json:
            out_json(asdict(done))
        else:
            out(done.commit)
        if done.warning:
            note(done.warning, "bad")
        good = done.status in ("branch", "promoted", "already")
        said = _SAID[done.status].format(branch=done.branch, into=target)
        if good:
            note(said, "good")
            return Exit.OK
        report = done.report.strip().removeprefix("error: ")
        complain(
            f"{said}. {report}".strip(), _NEXT[done.status].format(branch=done.branch, run=run_id)
        )
        return Exit.WRONG

    return in_world(settings, work)
