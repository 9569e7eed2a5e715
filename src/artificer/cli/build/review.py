"""``artificer build review``: the changes that wait for a person's consent, with their diffs."""

from __future__ import annotations

import click

from artificer.builds.state import consents_of
from artificer.cli.common.build_decide import lines_of
from artificer.cli.common.drive import in_world
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.errors import NotFoundError
from artificer.world import World


@click.command(name="review", short_help="Show changes that need your consent.")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@pass_settings
def review(settings: Settings, run: str, as_json: bool) -> int:
    """Show the changes of RUN that a build does not let count by itself, and why.

    A change waits when it touches a control file, weakens tests, rewrites the check that it is held
    against, or passed a check that passed before.

    \b
    Example:
      artificer build review last && artificer build approve last && artificer resume last
    """

    async def work(world: World) -> Exit:
        run_id = await world.find(run)
        build = (await world.get(run_id)).run.state.build
        asked = consents_of(build) if build else []
        if not asked:
            raise NotFoundError("No change waits for consent.", hint=f"artificer explain {run_id}")
        told = []
        for wish in asked:
            diff = await world.diff_of(run_id, wish.check.commit, wish.checked.commit)
            concerns = [concern.model_dump(mode="json") for concern in wish.checked.concerns]
            told.append(
                {"step": wish.step.path, "change": wish.digest, "concerns": concerns, "diff": diff}
            )
            if not as_json:
                for line in lines_of(wish, diff, most=100_000):
                    out(line)
        if as_json:
            out_json(told)
        else:
            note(f"agree with   artificer build approve {run_id} && artificer resume {run_id}")
            note(f"or           artificer build reject {run_id} --reason 'why'")
        return Exit.OK

    return in_world(settings, work)
