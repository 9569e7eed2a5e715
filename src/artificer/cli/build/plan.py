"""``artificer build plan``: show the plan of a build."""

from __future__ import annotations

import json

from artificer.builds.scheduler import question_of
from artificer.builds.state import artifact_digest
from artificer.cli.commands.build import PlanOptions
from artificer.cli.opened_archive import opened_archive
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.errors import NotFoundError
from artificer.render.build_artifacts import build_artifact_markdown


async def plan(settings: Settings, options: PlanOptions) -> Exit:
    """Print the plan that waits for a decision, or else the one that is built."""
    async with opened_archive(settings) as archive:
        run_id = await archive.find(options.run)
        build = (await archive.get(run_id)).state.build
    found = (build.proposal or build.plan) if build else None
    if build is None or found is None:
        raise NotFoundError(f"Run {run_id} has no plan.", hint=f"artificer explain {run_id}")
    if options.as_json:
        out_json(json.loads(found.canonical()))
    else:
        out(build_artifact_markdown(found).rstrip())
    status = "approved" if build.proposal is None else "not approved"
    if question_of(build) is not None:
        status = "waits for a decision"
    note(f"{artifact_digest(found)} · {status}")
    return Exit.OK
