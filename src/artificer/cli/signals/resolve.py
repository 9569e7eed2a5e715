"""``artificer resolve``: record whether an uncertain call was executed."""

from __future__ import annotations

from artificer.cli.commands.signals import ResolveOptions
from artificer.cli.opened_archive import opened_archive
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.signals.send import send_signal
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.console import note, one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.core.signals import Resolve
from artificer.core.state import Doubt
from artificer.errors import NotFoundError, OperatorError


async def resolve(settings: Settings, options: ResolveOptions) -> Exit:
    """Send the answer, or list the uncertain calls."""
    if options.happened is None:
        async with opened_archive(settings) as archive:
            run = await archive.get(await archive.find(options.run))
        _show(run.doubts, as_json=options.as_json)
        return Exit.OK
    async with opened_run(settings, options.run) as (world, run_id):
        call = _choose(run_id, (await world.get(run_id)).doubts, options.call)
        signal = Resolve(
            by=user_name(),
            call_id=call.call_id,
            happened=options.happened,
            reason=options.reason,
        )
        return await send_signal(world, run_id, signal)


def _show(uncertain: tuple[Doubt, ...], *, as_json: bool) -> None:
    if as_json:
        out_json([call.to_json() for call in uncertain])
        return
    for call in uncertain:
        out(f"{call.call_id}  {call.tool} {one_line(call.arguments or '', 200)}")
    if not uncertain:
        note("no call is uncertain")


def _choose(run_id: str, uncertain: tuple[Doubt, ...], call: str) -> Doubt:
    """The call of that id, or the only one. Raises NotFoundError, OperatorError."""
    if not uncertain:
        raise NotFoundError(
            f"No call of run {run_id} is uncertain.", hint=f"artificer explain {run_id}"
        )
    found = [each for each in uncertain if call in ("", each.call_id)]
    if not found:
        raise NotFoundError(
            "No such call is uncertain.", hint="Without an answer, the calls are listed."
        )
    if len(found) > 1:
        raise OperatorError(f"{len(found)} calls are uncertain.", hint="Choose one with CALL.")
    return found[0]
