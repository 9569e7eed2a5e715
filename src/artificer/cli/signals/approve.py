"""``artificer approve``: approve or deny a call that a run waits for."""

from __future__ import annotations

from artificer.cli.commands.signals import ApproveOptions
from artificer.cli.opened_archive import opened_archive
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.signals.send import send_signal
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.console import note, one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.core.signals import AnswerCall
from artificer.errors import NotFoundError, OperatorError
from artificer.ports import Question


async def approve(settings: Settings, options: ApproveOptions) -> Exit:
    """Send the answer, or list the calls that wait."""
    if options.only_list:
        async with opened_archive(settings) as archive:
            run = await archive.get(await archive.find(options.run))
        _show(run.id, run.questions, as_json=options.as_json)
        return Exit.OK
    async with opened_run(settings, options.run) as (world, run_id):
        question = _choose(run_id, (await world.get(run_id)).questions, options.call)
        note(f"{'deny' if options.deny else 'approve'} {question.tool} {question.arguments}")
        signal = AnswerCall(
            by=user_name(),
            call=question.digest,
            approved=not options.deny,
            reason=options.reason,
        )
        return await send_signal(world, question.run, signal, resumes=run_id)


def _show(run_id: str, questions: tuple[Question, ...], *, as_json: bool) -> None:
    if as_json:
        shown = ("run", "tool", "arguments", "reason", "digest")
        out_json([{name: getattr(question, name) for name in shown} for question in questions])
        return
    for question in questions:
        out(f"{question.digest}  {question.tool} {one_line(question.arguments, 200)}")
        if question.run != run_id:
            out(f"  asked by {question.run}")
        out(f"  {question.reason or 'the policy requires approval of this tool'}")
    if not questions:
        note("no call waits for approval")


def _choose(run_id: str, questions: tuple[Question, ...], call: str) -> Question:
    """The question whose digest starts so. Raises NotFoundError, OperatorError."""
    if not questions:
        raise NotFoundError(
            f"No call of run {run_id} waits for approval.", hint=f"artificer explain {run_id}"
        )
    found = [q for q in questions if q.digest.startswith(call)]
    found = found or [q for q in questions if call and q.digest.startswith(f"sha256:{call}")]
    if not found:
        raise NotFoundError(
            "No such call waits for approval.", hint="--list shows the calls that wait."
        )
    if len(found) > 1:
        raise OperatorError(f"{len(found)} calls wait for approval.", hint="Choose one with CALL.")
    return found[0]
