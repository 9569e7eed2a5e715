"""``artificer build review``: show the changes that need consent, with their diffs."""

from __future__ import annotations

from artificer.builds.scheduler import open_questions
from artificer.builds.state import consents_of
from artificer.cli.commands.build import ReviewOptions
from artificer.cli.execution.decider import lines_of
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.errors import NotFoundError
from artificer.runtime.explaining.build import option_for

MAX_LINES = 100_000
"""Lines of a diff that are printed."""


async def review(settings: Settings, options: ReviewOptions) -> Exit:
    """Print the changes of a build that wait for consent."""
    async with opened_run(settings, options.run) as (world, run_id):
        build = (await world.get(run_id)).state.build
        waiting = consents_of(build) if build else []
        questions = open_questions(build) if build else []
        diffs = [
            await world.builds.diff(run_id, job.check.commit, job.checked.commit) for job in waiting
        ]
    if not waiting:
        raise NotFoundError("No change waits for consent.", hint=f"artificer explain {run_id}")
    if options.as_json:
        changes = []
        for job, diff in zip(waiting, diffs, strict=True):
            concerns = [concern.to_json() for concern in job.checked.concerns]
            changes.append(
                {"step": job.step.path, "change": job.digest, "concerns": concerns, "diff": diff}
            )
        out_json(changes)
        return Exit.OK
    for job, diff in zip(waiting, diffs, strict=True):
        for line in lines_of(job, diff, limit=MAX_LINES):
            out(line)
        option = option_for(job, questions)
        note(f"approve with artificer build approve {run_id}{option} && artificer resume {run_id}")
        note(f"or           artificer build reject {run_id}{option} --reason 'why'")
    return Exit.OK
