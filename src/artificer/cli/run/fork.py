"""``artificer fork``: start a run from a copy of another run's records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from artificer.cli.commands.run import ForkOptions
from artificer.cli.execution.agents import load_agent
from artificer.cli.execution.decider import decider_for
from artificer.cli.execution.follow import following_run
from artificer.cli.execution.limits import limits_in
from artificer.cli.execution.outcome import deliver
from artificer.cli.execution.prompt import read_attachments
from artificer.cli.interruptible import interrupted_at_once
from artificer.cli.opened_world import opened_run
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import approver_for
from artificer.cli.terminal.exits import Exit
from artificer.runtime.fork import ForkChanges


async def fork(settings: Settings, options: ForkOptions) -> Exit:
    """Fork a run and deliver the outcome of the fork."""
    attachments = read_attachments(options.attach)
    edits = dict(map(_read_edit, options.edits))
    changed = limits_in(options.max_turns, options.max_tokens)
    with following_run(settings) as progress:
        async with opened_run(settings, options.run, options) as (world, run_id):
            progress.requested_record = options.at
            limits = (await world.get(run_id)).state.run_spec.limits if changed else None
            finished = await world.fork(
                run_id,
                replace(
                    load_agent(options.agent, options.tools),
                    model=options.model or None,  # as recorded, unless given here
                    instructions=options.system,
                    limits=limits and limits.replace(**changed),
                ),
                ForkChanges(
                    at=options.at,
                    prompt=options.prompt,
                    edits=edits,
                    steer=options.steer,
                    attachments=attachments,
                ),
                approver=approver_for(progress.screen),
                observer=progress,
                decider=decider_for(progress.screen),
            )
            return await deliver(world, finished, progress, options)


def _read_edit(word: str) -> tuple[int, str]:
    """Read ``SEQ=TEXT`` or ``SEQ=@FILE``. Raises UsageError."""
    seq, equals, text = word.partition("=")
    if not equals or not seq.isdecimal():
        raise click.UsageError(f"{word!r} is not SEQ=TEXT.")
    if not text.startswith("@"):
        return int(seq), text
    try:
        with interrupted_at_once():
            return int(seq), Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{text[1:]} cannot be read: {error}.") from error
