"""``artificer chat``: read prompts and commands, line by line, until the user ends it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Any

import click

from artificer.agent import Agent
from artificer.cli.chat.commands import NAMES, ChatEnded, perform
from artificer.cli.chat.conversation import TerminalChat
from artificer.cli.commands.run import ChatOptions
from artificer.cli.execution.agents import load_agent
from artificer.cli.execution.limits import limits_in
from artificer.cli.execution.sampling import settings_in
from artificer.cli.opened_world import opened_run, opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import complain, note, out
from artificer.cli.terminal.exits import Exit, exit_of
from artificer.contracts.capabilities import Capabilities, Host
from artificer.core.spec import Limits
from artificer.errors import ArtificerError
from artificer.runs import Run

PROMPT = "> "

_UNFINISHED = ("open", "stalled", "paused")


def chat(settings: Settings, options: ChatOptions) -> Exit:
    """Hold a conversation, and print how to continue it later.

    The event loop runs while there is something to do, and not while the user types: a line is read
    by the main thread, which alone can edit lines and be interrupted.
    """
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            conversation = runner.run(_opened(stack, settings, options))
            refused = _talk(runner, conversation, options.prompt)
            return _ended(conversation, refused)
        finally:
            runner.run(stack.aclose())


async def _opened(stack: AsyncExitStack, settings: Settings, options: ChatOptions) -> TerminalChat:
    run: Run | None = None
    if options.resume is None:
        world = await stack.enter_async_context(opened_world(settings, options))
    else:
        opening = opened_run(settings, options.resume, options)
        world, run_id = await stack.enter_async_context(opening)
        run = await world.get(run_id)
    agent = _agent(options, world.config.capabilities)
    conversation = TerminalChat(world, agent, run)
    note(f"{conversation.model} · /help lists the commands, Ctrl-D ends", "dim")
    if run is not None:
        if options.model:
            conversation.use(options.model)
        if run.status in _UNFINISHED:
            await conversation.resume(run.id)
        elif run.text:
            out(run.text)
    return conversation


def _agent(options: ChatOptions, configured: Capabilities) -> Agent:
    """The agent of --agent, or the default one, with what other options replace."""
    agent = load_agent(options.agent, options.tools)
    if options.agent is None:
        agent = replace(agent, kind="chat")
    if options.folder is not None:
        base = agent.capabilities or configured
        host = (base.host or Host(folder=".")).replace(folder=str(options.folder))
        agent = replace(agent, capabilities=base.replace(host=host))
    settings, limits = settings_in(agent, options), limits_in(tokens=options.max_tokens)
    if options.resume is not None and (settings or limits):
        raise click.UsageError(
            "A conversation keeps the settings that it started with: leave them out with --resume."
        )
    if limits:
        limited = agent.limits.replace(**limits) if agent.limits else Limits(**limits)
        agent = replace(agent, limits=limited)
    replaced: dict[str, Any] = {
        "model": options.model or None,
        "instructions": options.system,
        "settings": settings,
    }
    return replace(agent, **{n: value for n, value in replaced.items() if value is not None})


def _talk(
    runner: asyncio.Runner, conversation: TerminalChat, first: str | None
) -> ArtificerError | None:
    """Answer line after line until the end of the chat; return why the last was refused."""
    read, refused = _line_reader(), None
    line: str | None = first
    with suppress(ChatEnded, EOFError):
        while True:
            if line is None or not line.strip():
                line = _next(read)
                continue
            before = conversation.run
            try:
                if line.startswith("/"):
                    runner.run(perform(conversation, line.strip()))
                else:
                    runner.run(_send(conversation, line))
                refused = refused if conversation.run is before else None
            except ArtificerError as error:
                complain(error.message, error.hint)
                refused = error
            line = None
    return refused


async def _send(conversation: TerminalChat, line: str) -> None:
    await conversation.say(line)


def _next(read: Callable[[], str]) -> str | None:
    """Return the next line; None if Ctrl-C discards it. Raises EOFError."""
    try:
        return read()
    except KeyboardInterrupt:
        note("")
        return None


def _line_reader() -> Callable[[], str]:
    """Return what reads a line: with editing and history at a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _plain_line
    with suppress(ImportError):
        import readline

        readline.set_completer_delims(" ")
        readline.set_completer(_completed)
        readline.parse_and_bind("tab: complete")
    return lambda: input(PROMPT)


def _completed(text: str, state: int) -> str | None:
    found = [name for name in NAMES if text.startswith("/") and name.startswith(text)]
    return found[state] if state < len(found) else None


def _plain_line() -> str:
    if sys.stdin.isatty():
        sys.stderr.write(PROMPT)
        sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _ended(conversation: TerminalChat, refused: ArtificerError | None) -> Exit:
    """Say how to continue. A script learns how its last line ended; a person has seen it."""
    run = conversation.run
    if run is not None:
        note(f"resume with: artificer chat --resume {run.id}")
    if sys.stdin.isatty():
        return Exit.OK
    if refused is not None:
        return exit_of(refused)
    return Exit.OK if run is None else _EXITS.get(run.status, Exit.INCOMPLETE)


_EXITS = {
    "completed": Exit.OK,
    "waiting": Exit.WAITING,
    "paused": Exit.WAITING,
    "stalled": Exit.STALLED,
    "open": Exit.STALLED,
}
