"""``artificer approve``: answer what a run asks."""

from __future__ import annotations

import click

from artificer.cli.common.ask_here import who
from artificer.cli.common.drive import in_world
from artificer.cli.common.post import leave
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.core.letters import AnswerCall
from artificer.errors import NotFoundError, OperatorError
from artificer.ports import Question
from artificer.world import World


@click.command(name="approve")
@click.argument("run")
@click.argument("call", default="")
@click.option("--deny", is_flag=True, help="Say no.")
@click.option("--reason", default="", help="Why; it is recorded, and told to the model after a no.")
@click.option("--list", "only_list", is_flag=True, help="Only show what is asked.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print a JSON array.")
@pass_settings
def command(
    settings: Settings,
    run: str,
    call: str,
    deny: bool,
    reason: str,
    only_list: bool,
    as_json: bool,
) -> int:
    """Allow the call that RUN asks about, or deny it.

    CALL is its digest, or the beginning of it; it can be left out when there is only one. The
    answer is for this exact call and is used once. It waits until the run is resumed.

    \b
    Examples:
      artificer approve last --list
      artificer approve last sha256:3f2a
      artificer approve last --deny --reason "not on a Friday" && artificer resume last
    """

    async def work(world: World) -> Exit:
        run_id = await world.find(run)
        questions = (await world.get(run_id)).run.questions
        if only_list:
            _show(questions, as_json=as_json)
            return Exit.OK
        question = _meant(questions, call)
        note(f"{'deny' if deny else 'approve'} {question.tool} {question.arguments}")
        letter = AnswerCall(by=who(), call=question.digest, approved=not deny, reason=reason)
        return await leave(world, run_id, letter)

    return in_world(settings, work)


def _show(questions: tuple[Question, ...], *, as_json: bool) -> None:
    if as_json:
        shown = ("tool", "arguments", "reason", "digest")
        out_json([{name: getattr(question, name) for name in shown} for question in questions])
        return
    for question in questions:
        out(f"{question.digest}  {question.tool} {one_line(question.arguments, 200)}")
        out(f"  {question.reason or 'the policy asks about this tool'}")


def _meant(questions: tuple[Question, ...], call: str) -> Question:
    """The question that a digest's beginning names. Raises NotFoundError, OperatorError."""
    found = [q for q in questions if q.digest.startswith(call)]
    found = found or [q for q in questions if call and q.digest.startswith(f"sha256:{call}")]
    if not found:
        raise NotFoundError("No such call waits for an answer.", hint="--list shows what is asked.")
    if len(found) > 1:
        raise OperatorError(f"{len(found)} calls wait for an answer.", hint="Say which one: CALL.")
    return found[0]
