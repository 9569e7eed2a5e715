"""``artificer build revise`` and ``retry``: change a build after work started."""

from __future__ import annotations

from artificer.builds.scheduler import failed_specs, needs_retry, revision_fault
from artificer.builds.state import BuildState
from artificer.cli.build.state import build_state, require_text
from artificer.cli.commands.build import RetryOptions, ReviseOptions
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.signals.send import send_signal
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.exits import Exit
from artificer.core.signals import Retry, Revise
from artificer.errors import NotFoundError, OperatorError
from artificer.world import World


async def revise(settings: Settings, options: ReviseOptions) -> Exit:
    """Ask for another plan of a build whose work started."""
    require_text(options.feedback)
    async with opened_run(settings, options.run) as (world, run_id):
        build = await _unfinished_build(world, run_id)
        if fault := revision_fault(build):
            raise OperatorError(fault, hint=f"artificer explain {run_id}")
        signal = Revise(by=user_name(), feedback=options.feedback)
        return await send_signal(world, run_id, signal)


async def retry(settings: Settings, options: RetryOptions) -> Exit:
    """Try a failed spec, or the plan, again."""
    async with opened_run(settings, options.run) as (world, run_id):
        build = await _unfinished_build(world, run_id)
        _require_failed(run_id, build, options.spec)
        signal = Retry(by=user_name(), spec=options.spec, hint=options.hint)
        return await send_signal(world, run_id, signal)


async def _unfinished_build(world: World, run_id: str) -> BuildState:
    build = build_state(await world.get(run_id))
    if build.ended is not None:
        raise OperatorError(
            f"The build is over: {build.ended}.", hint="Start another one: artificer build."
        )
    return build


def _require_failed(run: str, build: BuildState, name: str) -> None:
    """Raise NotFoundError for a spec that does not exist or has not failed, or for the plan."""
    failed = failed_specs(build)
    if name in failed or (not name and needs_retry(build)):
        return
    what = f"No spec {name!r} has failed" if name else "The plan has not failed"
    raise NotFoundError(
        f"{what}; failed specs: {', '.join(failed) or 'none'}.",
        hint=f"artificer build retry {run} {failed[0]}" if failed else f"artificer explain {run}",
    )
