"""The commands of a chat: lines that begin with a slash."""

from __future__ import annotations

import difflib

from artificer.cli.chat.conversation import TerminalChat
from artificer.cli.chat.reasoning import MODES
from artificer.cli.terminal.console import complain, note
from artificer.cli.terminal.words import cost, joined, tokens
from artificer.ports.attachment import attachment_at
from artificer.system.home import expanded
from artificer.system.whole_file import write_whole
from artificer.wiring.providers import split_model

COMMANDS = {
    "/help": "list these commands",
    "/model [PROVIDER/MODEL]": "show the model, or let another one answer from now on",
    "/retry": "continue a reply that failed or waits",
    "/attach FILE": "attach a file to the next message; without FILE, attach none",
    "/reasoning [on|off|all]": "show a few lines of the model's reasoning, nothing, or all of it",
    "/save FILE": "write the conversation to a Markdown file",
    "/usage": "show the tokens and the cost so far",
    "/quit": "end the chat; so does Ctrl-D",
}
"""Each command with its argument, and what it does."""

NAMES = tuple(command.partition(" ")[0] for command in COMMANDS)


class ChatEnded(Exception):
    """The user ended the chat."""


async def perform(conversation: TerminalChat, line: str) -> None:
    """Perform a command. Raises ChatEnded for ``/quit``."""
    name, _, argument = line.partition(" ")
    argument = argument.strip()
    match name:
        case "/help":
            width = max(map(len, COMMANDS))
            for command, text in COMMANDS.items():
                note(f"  {command:<{width}}  {text}")
        case "/model":
            _model(conversation, argument)
        case "/retry":
            await _retry(conversation)
        case "/attach":
            _attach(conversation, argument)
        case "/reasoning":
            _reasoning(conversation, argument)
        case "/save":
            _save(conversation, argument)
        case "/usage":
            _usage(conversation)
        case "/quit" | "/exit":
            raise ChatEnded
        case _:
            close = difflib.get_close_matches(name, NAMES, n=1)
            meant = f"Did you mean {close[0]}? " if close else ""
            complain(f"Unknown command: {name}.", f"{meant}/help lists the commands.")


def _model(conversation: TerminalChat, model: str) -> None:
    if model:
        split_model(model)
        conversation.use(model)
    note(f"model: {conversation.model}")


async def _retry(conversation: TerminalChat) -> None:
    if conversation.run is None or conversation.run.state.status is not None:
        complain("Nothing to retry: no reply has failed or is waiting.")
        return
    await conversation.resume(conversation.run.id)


def _attach(conversation: TerminalChat, file: str) -> None:
    if not file:
        conversation.attachments.clear()
        note("nothing is attached")
        return
    conversation.attachments.append(attachment_at(expanded(file)))
    names = ", ".join(one.name or one.media_type for one in conversation.attachments)
    note(f"attached to the next message: {names}")


def _reasoning(conversation: TerminalChat, word: str) -> None:
    mode = next((mode for mode in MODES if mode == word), None)
    if word and mode is None:
        complain(f"/reasoning is on, off or all, not {word!r}.")
        return
    conversation.reasoning.mode = mode or conversation.reasoning.mode
    note(f"reasoning: {conversation.reasoning.mode}")


def _save(conversation: TerminalChat, file: str) -> None:
    if not file:
        complain("The file is missing.", "/save FILE")
        return
    try:
        write_whole(expanded(file), transcript(conversation).encode())
    except OSError as error:
        complain(f"{file} cannot be written: {error.strerror}.")
        return
    note(f"saved: {file}")


def transcript(conversation: TerminalChat) -> str:
    """Return the messages of the conversation as Markdown, without the calls."""
    if conversation.run is None:
        return ""
    names = {"user": "You", "assistant": conversation.model}
    messages = [m for m in conversation.run.state.history if m.text.strip()]
    return "\n\n".join(f"## {names[m.role]}\n\n{m.text.strip()}" for m in messages) + "\n"


def _usage(conversation: TerminalChat) -> None:
    if conversation.run is None:
        note("nothing was sent yet")
        return
    state = conversation.run.state
    note(joined(tokens(state.usage), cost(state.cost_micros)))
