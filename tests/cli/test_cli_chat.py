"""``chat``: a conversation in the terminal, against the strict double."""

from __future__ import annotations

import re
import signal

import pytest
from cli_kit import Shell, Terminal, finish, text_of, until
from strict_server import Calls, Fails, Hangs, Says, StrictServer
from test_cli_terminal import start_at, terminal  # noqa: F401  # a fixture

from artificer.cli.terminal.exits import Exit
from pictures import png

ASKS = '[policy]\n[[policy.rules]]\ndecision = "ask"\nreason = "charts are dear"\n'


def resumed_by(err: str) -> str:
    """The id of the run that the last line says how to resume."""
    line = err.strip().splitlines()[-1]
    assert line.startswith("resume with: artificer chat --resume "), err
    return line.rpartition(" ")[2]


@pytest.mark.req("cli-chat")
async def test_each_line_is_a_prompt_of_one_conversation(shell: Shell) -> None:
    async with StrictServer(Says("Good morning."), Says("Still here.")) as server:
        shell.configure(server.url)
        result = await shell.run("chat", stdin=b"Hello\n\nAre you there?\n")
        assert server.refused == []
        said = [message["content"] for message in server.seen[1].body["messages"]]
    assert (result.code, result.out) == (0, "Good morning.\nStill here.\n")
    assert said[-3:] == ["Hello", "Good morning.", "Are you there?"]
    run = resumed_by(result.err)
    assert (await shell.run("replay", run)).code == 0


@pytest.mark.req("cli-chat")
async def test_a_call_that_does_not_run_is_shown_with_its_reason(shell: Shell) -> None:
    calls = Calls(("host.list", '{"path": 5}'), ("draw", "{}"))
    async with StrictServer(calls, Says("I cannot.")) as server:
        shell.configure(server.url)
        result = await shell.run("chat", "List them.", "--folder", ".")
        assert server.refused == []
    assert re.search("^  host.list  invalid  /path: .+$", result.err, re.MULTILINE), result.err
    assert re.search("^  draw  unknown tool  There is no such tool", result.err, re.MULTILINE)


@pytest.mark.req("cli-chat-resume")
async def test_a_conversation_goes_on_in_another_process(shell: Shell) -> None:
    async with StrictServer(Says("Good morning."), Says("You said hello.")) as server:
        shell.configure(server.url)
        first = await shell.run("chat", "Hello")
        run = resumed_by(first.err)
        again = await shell.run("chat", "--resume", run, stdin=b"What did I say?\n")
        said = [message["content"] for message in server.seen[1].body["messages"]]
    assert again.out == "Good morning.\nYou said hello.\n"
    assert said[-3:] == ["Hello", "Good morning.", "What did I say?"]
    assert resumed_by(again.err) == run


@pytest.mark.req("cli-chat-resume")
async def test_a_conversation_keeps_the_settings_that_it_began_with(shell: Shell) -> None:
    async with StrictServer(Says("Good morning."), Says("You said hello.")) as server:
        shell.configure(server.url)
        first = await shell.run("chat", "Hello", "--temperature", "0.2", "--max-tokens", "99")
        run = resumed_by(first.err)
        again = await shell.run("chat", "--resume", run, stdin=b"What did I say?\n")
        assert again.code == 0
        assert {seen.body["temperature"] for seen in server.seen} == {0.2}
        assert 99 in server.seen[1].body.values()
    other = await shell.run("chat", "--resume", run, "--seed", "1")
    assert other.code == Exit.USAGE
    assert "leave them out with --resume" in other.err


@pytest.mark.req("cli-chat-commands")
async def test_commands_save_and_switch_the_model(shell: Shell) -> None:
    lines = "Hello\n/model other/n\nAnd you?\n/save talk.md\n/modle\n/usage\n/quit\nnever sent\n"
    async with StrictServer(Says("I am m."), Says("I am n.")) as server:
        shell.configure(server.url, f'[providers.other]\nbase_url = "{server.url}"\n')
        result = await shell.run("chat", stdin=lines.encode())
        assert server.refused == []
        assert [seen.body["model"] for seen in server.seen] == ["m", "n"]
        assert "And you?" in str(server.seen[1].body["messages"][-1]["content"])
    assert result.code == 0, result.err
    assert "model: other/n" in result.err
    assert "Did you mean /model?" in result.err
    saved = text_of(shell.cwd / "talk.md")
    for part in ("## You\n\nHello", "I am m.", "I am n."):
        assert part in saved


@pytest.mark.req("user-without-home")
async def test_a_file_of_an_unknown_user_ends_no_conversation(shell: Shell) -> None:
    lines = "Hello\n/attach ~no-such-user/x\n/save ~no-such-user/x\nAgain\n"
    async with StrictServer(Says("One."), Says("Two.")) as server:
        shell.configure(server.url)
        result = await shell.run("chat", stdin=lines.encode())
    assert (result.code, result.out) == (Exit.OK, "One.\nTwo.\n"), result.err
    assert "~no-such-user/x cannot be written: No such file or directory." in result.err


@pytest.mark.req("cli-chat-failure")
async def test_a_failed_reply_ends_no_conversation(shell: Shell) -> None:
    async with StrictServer(Fails(401), Fails(401)) as server:  # which is not asked again
        shell.configure(server.url)
        result = await shell.run("chat", stdin=b"Hello\n/model openai/gpt-5\nHello?\n/help\n")
        stalled = await shell.run("chat", stdin=b"Hello\n/help\n")
    assert (result.code, result.out) == (Exit.OPERATOR, "")
    assert "hint: /retry asks again, /model asks another model." in result.err
    assert "OPENAI_API_KEY" in result.err
    assert "/save FILE" in result.err
    assert stalled.code == Exit.STALLED


@pytest.mark.req("cli-chat-interrupt")
async def test_ctrl_c_interrupts_the_reply_and_keeps_the_conversation(
    shell: Shell,
    terminal: Terminal,  # noqa: F811
) -> None:
    async with StrictServer(Hangs("Well, I am"), Says("Shorter.")) as server:
        shell.configure(server.url)
        process = await start_at(shell, terminal, "chat", NO_COLOR="1")
        await terminal.until("Ctrl-D ends")
        terminal.type("Tell me all.\n")
        await until(lambda: bool(server.seen))
        process.send_signal(signal.SIGINT)
        await terminal.until("interrupted")
        terminal.type("In one word?\n")
        await terminal.until(r"> [^>]*> ")
        terminal.type("\x04")
        result = await finish(process)
        assert server.refused == []
    assert result.code == 0
    assert "Shorter.\n" in result.out
    await terminal.until("resume with: artificer chat --resume ")


@pytest.mark.req("cli-chat-approval")
async def test_a_call_is_approved_in_the_conversation(
    shell: Shell,
    terminal: Terminal,  # noqa: F811
) -> None:
    (shell.cwd / "tools").mkdir()
    (shell.cwd / "tools" / "hello.clad.toml").write_text(
        '[tool]\nname = "hello"\nversion = "1"\ndescription = "Greet."\n'
        '[args.who]\nrequired = true\n[command]\nexec = ["echo", "hello", "{who}"]\n',
        encoding="utf-8",
    )
    async with StrictServer(Calls(("hello", '{"who":"Ada"}')), Says("Greeted.")) as server:
        shell.configure(server.url, 'tools = ["tools"]\n' + ASKS)
        process = await start_at(shell, terminal, "chat", "Greet Ada", NO_COLOR="1")
        await terminal.until(r"\[y/N\]")
        terminal.type("y\n")
        await terminal.until("hello .*ok")
        await terminal.until("\n> ")
        terminal.type("\x04")
        result = await finish(process)
    assert result.code == 0
    assert "Greeted." in result.out


@pytest.mark.req("attachment-messages")
async def test_a_file_is_attached_to_the_next_message(shell: Shell) -> None:
    (shell.cwd / "cat.png").write_bytes(png())
    lines = "/attach cat.png\nWhat is it?\nReally?\n/attach cat.png\n/attach\n/attach no.png\nBye\n"
    async with StrictServer(Says("A cat."), Says("Yes."), Says("Bye.")) as server:
        shell.configure(server.url)
        result = await shell.run("chat", stdin=lines.encode())
        assert server.refused == []
        *_, first, _, second, _, third = server.seen[2].body["messages"]
    assert [part["type"] for part in first["content"]] == ["image_url", "text"]
    assert (second["content"], third["content"]) == ("Really?", "Bye")
    assert "attached to the next message: cat.png" in result.err
    assert "nothing is attached" in result.err and "no.png cannot be read" in result.err


@pytest.mark.req("attachment-messages")
async def test_what_cannot_be_sent_stays_attached_until_it_is_removed(shell: Shell) -> None:
    (shell.cwd / "all.zip").write_bytes(b"PK\x03\x04" + bytes(range(256)))
    lines = "Hello\n/attach all.zip\nUnpack it\n/attach\nNever mind\n"
    async with StrictServer(Says("Hi."), Says("Fine.")) as server:
        shell.configure(server.url)
        result = await shell.run("chat", stdin=lines.encode())
        assert len(server.seen) == 2
    assert "all.zip" in result.err and "cannot be sent to" in result.err
    assert result.out == "Hi.\nFine.\n"


@pytest.mark.req("attachment-messages", "message-length")
async def test_a_follow_up_has_attachments_and_reads_stdin(shell: Shell) -> None:
    (shell.cwd / "cat.png").write_bytes(png())
    long = "Ein langer Text. " * 5_000
    async with StrictServer(Says("Hi."), Says("A cat."), Says("Long.")) as server:
        shell.configure(server.url)
        assert (await shell.run("run", "--kind", "chat", "Hello")).code == 0
        cat = await shell.run("follow-up", "last", "What is it?", "--attach", "cat.png")
        assert cat.out == "A cat.\n", cat.err
        read = await shell.run("follow-up", "last", stdin=long.encode())
        assert read.out == "Long.\n", read.err
        assert server.seen[2].body["messages"][-1]["content"] == long
    assert "cat.png" in (await shell.run("show", "last")).out
    refused = await shell.run("steer", "last", "--attach", "cat.png", stdin=long.encode())
    assert "has ended" in refused.err


@pytest.mark.req("attachment-messages")
async def test_another_model_gets_what_is_attached(shell: Shell) -> None:
    (shell.cwd / "cat.png").write_bytes(png())
    lines = "Hello\n/model other/n\n/attach cat.png\nWhat is it?\nReally?\n"
    async with StrictServer(Says("Hi."), Says("A cat."), Says("Yes.")) as server:
        shell.configure(server.url, f'[providers.other]\nbase_url = "{server.url}"\n')
        result = await shell.run("chat", stdin=lines.encode())
        assert server.refused == []
        parts = server.seen[1].body["messages"][-1]["content"]
        assert server.seen[2].body["messages"][-1]["content"] == "Really?"
    assert [part["type"] for part in parts] == ["image_url", "text"], result.err
