"""``artificer build plan``: the plan that is asked about, or the one that is built."""

from __future__ import annotations

import json

import click

from artificer.archive import Archive
from artificer.builds.scheduler import question_of
from artificer.builds.state import artifact_digest
from artificer.cli.common.drive import in_archive
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.errors import NotFoundError


@click.command(name="plan", short_help="Show the plan and its digest.")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as it is stored.")
@pass_settings
def plan(settings: Settings, run: str, as_json: bool) -> int:
    """Show the plan of RUN, and the digest that an approval of it names.

    \b
    Example:
      artificer build plan last
    """

    async def work(world: Archive) -> Exit:
        from artificer.render.build_artifacts import build_artifact_markdown

        run_id = await world.find(run)
        build = (await world.get(run_id)).run.state.build
        found = (build.proposal or build.plan) if build else None
        if build is None or found is None:
            raise NotFoundError(f"Run {run_id} has no plan.", hint=f"artificer explain {run_id}")
        if as_json:
            out_json(json.loads(found.canonical()))
        else:
            out(build_artifact_markdown(found).rstrip())
        standing = "approved" if build.proposal is None else "not approved"
        if question_of(build) is not None:
            standing = "waits for a decision"
        note(f"{artifact_digest(found)} · {standing}")
        return Exit.OK

    return in_archive(settings, work)
