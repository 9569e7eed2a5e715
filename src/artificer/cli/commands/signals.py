"""The commands that send signals to runs."""

from __future__ import annotations

from artificer.cli.commands.candidates import run_argument
from artificer.cli.commands.shared import AttachOption, ReasonOption, RunOption, json_flag
from artificer.cli.declare import Command, argument, option, options


@options
class ApproveOptions:
    """Approve or deny a tool call that RUN waits for.

    CALL is the call's digest or the start of it; it is optional if only one call waits. The answer
    applies to exactly this call and is used once, when the run is resumed.

    \b
    Examples:
      artificer approve last --list
      artificer approve last sha256:3f2a
      artificer approve last --deny --reason "not on a Friday" && artificer resume last
    """

    run: str = run_argument()
    call: str = argument(default="")
    deny: bool = option(is_flag=True, help="Deny the call.")
    reason: str = option(
        default="", help="The reason; it is recorded, and the model sees it if you deny."
    )
    only_list: bool = option("--list", is_flag=True, help="Only list the waiting calls.")
    as_json: bool = json_flag("With --list: print a JSON array.")


@options
class ResolveOptions:
    """Record whether an uncertain call of RUN was executed before the process died.

    Without --happened or --did-not-happen, list the uncertain calls. CALL is the id of one; it is
    optional if there is only one. The model sees your answer before its next reply.

    \b
    Example:
      artificer resolve last --happened --reason "the invoice is in the outbox"
    """

    run: str = run_argument()
    call: str = argument(default="")
    happened: bool | None = option(
        "--happened/--did-not-happen", default=None, help="Whether the call was executed."
    )
    reason: str = option(default="", help="How you know; the model sees it.")
    as_json: bool = json_flag("When listing: print a JSON array.")


@options
class SteerOptions(AttachOption):
    """Send TEXT to the model of RUN before its next reply, whichever process executes the run.

    Without TEXT, or with `-`, it is read from stdin; piped input is appended to TEXT.

    A run whose answer was just accepted continues with another turn. To continue a finished
    run, use `artificer follow-up`.

    \b
    Example:
      artificer steer last "Leave out the prices."
    """

    run: str = run_argument()
    text: str | None = argument(required=False)


@options
class PauseOptions(ReasonOption, RunOption):
    """Pause RUN: calls and replies in progress finish and are recorded, nothing new starts.

    The process that executes the run then stops, and `artificer resume` continues.

    \b
    Example:
      artificer pause last && artificer explain last && artificer resume last
    """


@options
class InterruptOptions(ReasonOption, RunOption):
    """End RUN gracefully: calls and replies in progress finish, nothing new starts.

    Calls that were not started get the result `cancelled`, and what exists is delivered. To end a
    run at once, use `artificer cancel`.

    \b
    Example:
      artificer interrupt last --reason "that is enough"
    """


@options
class CancelOptions(ReasonOption, RunOption):
    """End RUN at once: its open calls get the result `cancelled`, and what exists is delivered.

    A process that still executes the run is fenced: it can record nothing more and stops.

    \b
    Example:
      artificer cancel last --reason "asked the wrong question"
    """


@options
class TickOptions:
    """Tick off ITEM of the checklist LIST of RUN; without ITEM, show the checklists.

    Your name and the time are recorded. A finished run stays finished, and no model is called; the
    model learns of the ticks before its next reply.

    \b
    Examples:
      artificer tick last
      artificer tick last release tag
      artificer tick last release tag --undo
    """

    run: str = run_argument()
    list: str = argument(default="")
    item: str = argument(default="")
    undo: bool = option(is_flag=True, help="Take the tick back.")
    as_json: bool = json_flag("Print the checklists as a JSON array.")


approve = Command("approve", ApproveOptions, "signals.approve:approve")
resolve = Command("resolve", ResolveOptions, "signals.resolve:resolve")
steer = Command("steer", SteerOptions, "signals.steer:steer")
pause = Command("pause", PauseOptions, "signals.pause:pause")
interrupt = Command("interrupt", InterruptOptions, "signals.interrupt:interrupt")
cancel = Command("cancel", CancelOptions, "signals.cancel:cancel")
tick = Command("tick", TickOptions, "signals.tick:tick")
