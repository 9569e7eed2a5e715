"""``artificer resolve``: say what became of a call of which nobody knew."""

from __future__ import annotations

import click

from artificer.cli.common.ask_here import who
from artificer.cli.common.drive import in_world
from artificer.cli.common.post import leave
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.core.letters import Resolve
from artificer.errors import NotFoundError, OperatorError
from artificer.world import World


@click.command(name="resolve")
@click.argument("run")
@click.argument("call", default="")
@click.option("--happened/--did-not-happen", "happened", default=None, help="What you found out.")
@click.option("--reason", default="", help="How you know; the model is told.")
@click.option("--json", "as_json", is_flag=True, help="Without an answer: print a JSON array.")
@pass_settings
def command(
    settings: Settings, run: str, call: str, happened: bool | None, reason: str, as_json: bool
) -> int:
    """Say whether an ambiguous call of RUN had happened before the process died.

    Without --happened or --did-not-happen the calls in doubt are listed. CALL is the id of one; it
    can be left out when there is only one. The model is told before its next reply.

    \b
    Example:
      artificer resolve last --happened --reason "the invoice is in the outbox"
    """

    async def work(world: World) -> Exit:
        run_id = await world.find(run)
        doubts = (await world.get(run_id)).run.doubts
        if happened is None:
            if as_json:
                out_json([doubt.model_dump(mode="json") for doubt in doubts])
                return Exit.OK
            for doubt in doubts:
                out(f"{doubt.call_id}  {doubt.tool} {one_line(doubt.arguments or '', 200)}")
            if not doubts:
                note("nothing is in doubt")
            return Exit.OK
        found = [doubt for doubt in doubts if call in ("", doubt.call_id)]
        if not found:
            raise NotFoundError("No such call is in doubt.", hint="Without an answer: a list.")
        if len(found) > 1:
            raise OperatorError(f"{len(found)} calls are in doubt.", hint="Say which one: CALL.")
        letter = Resolve(by=who(), call_id=found[0].call_id, happened=happened, reason=reason)
        return await leave(world, run_id, letter)

    return in_world(settings, work)
