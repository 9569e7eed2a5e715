"""The model's reasoning in a chat, and in what `show` prints."""

from __future__ import annotations

import io
from contextlib import redirect_stderr

import pytest
from cli_kit import Shell

from artificer import Agent, World, load_config
from artificer.cli.chat.printer import ReplyPrinter
from artificer.cli.chat.reasoning import LINES, ReasoningMode, ReasoningPrinter
from artificer.providers.scripted import ScriptedProvider, reply
from artificer.values.blocks import ReasoningBlock, TextBlock
from artificer.values.model import ReasoningDelta, TextDelta

pytestmark = pytest.mark.req("cli-chat-reasoning")

DIM = "\x1b[2m"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


def shown(screen: Terminal, *pieces: str, mode: ReasoningMode = "on") -> list[str]:
    with redirect_stderr(screen):
        printer = ReasoningPrinter()
        printer.mode = mode
        for piece in pieces:
            printer.write(piece)
        printer.end()
    return screen.getvalue().replace(DIM, "").replace("\x1b[0m", "").splitlines()


def test_a_short_thought_is_shown_dim_and_whole(screen: Terminal) -> None:
    assert shown(screen, "The us", "er greets", " me.\n\nI gre", "et back.") == [
        "  The user greets me.",
        "  I greet back.",
    ]
    assert screen.getvalue().count(DIM) == 2


def test_a_long_one_is_a_few_lines_and_a_count(screen: Terminal) -> None:
    text = "All work and no play. " * 50
    *lines, last = shown(screen, *text.split("k"))
    assert len(lines) == LINES and all(len(line) <= 40 for line in lines)
    assert lines[0] == "  All wor and no play. All wor and no"
    assert last.startswith("  … ") and last.endswith("/reasoning all shows it")


def test_words_that_do_not_fit_are_cut(screen: Terminal) -> None:
    lines = shown(screen, "x" * 100, mode="all")
    assert [len(line) for line in lines] == [40, 40, 26]


def test_all_of_it_or_nothing(screen: Terminal) -> None:
    assert len(shown(screen, *["a line\n"] * 30, mode="all")) == 30
    assert shown(Terminal(), "a line\n", mode="off") == []


def test_escapes_are_shown_not_obeyed(screen: Terminal) -> None:
    (line,) = shown(screen, "\x1b[2J\u202egone")
    assert line == "  \\x1b[2J\\x202egone"


def test_each_reply_begins_again(screen: Terminal) -> None:
    with redirect_stderr(screen):
        printer = ReplyPrinter()
        printer.begin("r")
        for _ in range(2):
            printer.streamed("r", ReasoningDelta(text="one\ntwo\nthree\nfour\nfive\nsix"))
            printer.streamed("r", TextDelta(text="So."))
        printer.end()
    assert screen.getvalue().count("four") == 2
    assert "five" not in screen.getvalue()
    assert screen.getvalue().count("7 more characters") == 2


def test_nothing_is_shown_where_no_one_looks() -> None:
    with redirect_stderr(io.StringIO()) as pipe:
        printer = ReplyPrinter()
        printer.begin("r")
        printer.streamed("r", ReasoningDelta(text="A thought\n"))
        printer.end()
    assert pipe.getvalue() == ""


async def test_show_prints_the_readable_part(shell: Shell) -> None:
    block = ReasoningBlock(provider="scripted", data="{}", summary="I greet back.")
    script = ScriptedProvider([reply(block, TextBlock(text="Hello."))])
    async with World.open(load_config(home=shell.home, project="test")) as world:
        await world.run("Hi", Agent(model=script, kind="chat"))
    assert "reasoning I greet back." in (await shell.run("show", "last")).out
    listed = await shell.run("chat", stdin=b"/reasoning\n/reasoning all\n/reasoning maybe\n")
    assert "reasoning: off" in listed.err and "reasoning: all" in listed.err
    assert "on, off or all, not 'maybe'" in listed.err
