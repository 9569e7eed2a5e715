"""``artificer approve``: approve or deny a call that a run waits for."""

from __future__ import annotations

from collections.abc import Iterable

from artificer.archive import Archive
from artificer.cli.commands.signals import ApproveOptions
from artificer.cli.opened_archive import opened_archive
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.signals.send import send_signal
from artificer.cli.terminal.approver import user_name
from artificer.cli.terminal.console import complain, note, one_line, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.core.intents import AskApproval
from artificer.core.record import IntentLine
from artificer.core.signals import AnswerCall
from artificer.errors import NotFoundError, OperatorError
from artificer.ports import Question

_UNREAD = ("pruned", "unreadable")
"""How runs stand whose records do not say anything about their calls."""


async def approve(settings: Settings, options: ApproveOptions) -> Exit:
    """Send the answer, or list the calls that wait."""
    if options.only_list:
        async with opened_archive(settings) as archive:
            run = await archive.get(await archive.find(options.run))
        _show(run.id, run.questions, as_json=options.as_json)
        return Exit.OK
    async with opened_run(settings, options.run) as (world, run_id):
        questions = (await world.get(run_id)).questions
        if await _is_late(world.archive, run_id, questions, options.call):
            complain(
                f"The call of run {run_id} waits no more: it was answered, or the run has ended.",
                f"Nothing was sent. See what became of it: artificer explain {run_id}",
            )
            return Exit.WRONG
        question = _choose(run_id, questions, options.call)
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


async def _is_late(
    archive: Archive, run_id: str, questions: tuple[Question, ...], call: str
) -> bool:
    """Return whether a call waits no more that the run, or one that it started, once asked about.

    Without ``call``: whether none of its calls does. Raises TamperedError.
    """
    if _named([question.digest for question in questions], call):
        return False
    children = [node for node in await archive.children(run_id) if node.status not in _UNREAD]
    for run in (run_id, *(node.run for node in children)):
        lines = (await archive.history(run)).lines
        intents = [line.intent for line in lines if isinstance(line, IntentLine)]
        if _named([each.call for each in intents if isinstance(each, AskApproval)], call):
            return True
    return False


def _named(digests: Iterable[str], call: str) -> list[str]:
    """Return the digests that begin so, with or without the name of their hash."""
    return [digest for digest in digests if digest.startswith((call, f"sha256:{call}"))]


def _choose(run_id: str, questions: tuple[Question, ...], call: str) -> Question:
    """The question whose digest starts so. Raises NotFoundError, OperatorError."""
    if not questions:
        raise NotFoundError(
            f"No call of run {run_id} waits for approval.", hint=f"artificer explain {run_id}"
        )
    named = _named([question.digest for question in questions], call)
    found = [question for question in questions if question.digest in named]
    if not found:
        raise NotFoundError(
            "No such call waits for approval.", hint="--list shows the calls that wait."
        )
    if len(found) > 1:
        raise OperatorError(f"{len(found)} calls wait for approval.", hint="Choose one with CALL.")
    return found[0]
