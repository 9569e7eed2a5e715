"""Mistakes of the first hour, and the answers of the command line."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import click
import pytest
from cli_kit import Shell, Terminal, finish, until
from strict_server import Hangs, Says, StrictServer
from test_cli_help import commands
from test_cli_terminal import start_at, terminal  # noqa: F401  # a fixture

from artificer.cli.main import cli


@pytest.mark.req("cli-stdin")
@pytest.mark.parametrize(
    ("words", "piped", "prompt"),
    [
        (("Why?",), "line 1\nline 2\n", "Why?\n\nline 1\nline 2\n"),
        (("Why?",), "", "Why?"),
        (("-",), "All of it.", "All of it."),
        ((), "All of it.", "All of it."),
    ],
)
async def test_a_pipe_is_the_prompt_or_is_added_to_it(
    shell: Shell, words: tuple[str, ...], piped: str, prompt: str
) -> None:
    async with StrictServer(Says("Because.")) as server:
        shell.configure(server.url)
        command = ("run", "--kind", "chat", *words)
        result = await shell.run_process(*command, stdin=piped.encode())
        assert result.code == 0, result.err
        assert server.seen[0].body["messages"][-1]["content"] == prompt


@pytest.mark.req("cli-stdin")
@pytest.mark.parametrize(
    ("piped", "why"),
    [(b"a\0b", "NUL"), (b"\xff", "not UTF-8"), (b"x" * (8 * 1024 * 1024 + 1), "no model reads")],
)
async def test_what_is_no_prompt_is_refused_before_a_run(
    shell: Shell, piped: bytes, why: str
) -> None:
    shell.configure("http://127.0.0.1:9")
    result = await shell.run("run", stdin=piped)
    assert result.code == 2
    assert why in result.err
    assert not shell.home.exists()


@pytest.mark.req("not-utf-8-named")
@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (
            ("run", "Hello.", "--system", "\udcff"),
            2,
            "Invalid value for '--system': it is not UTF-8",
        ),
        (("show", "\udcff"), 2, "Invalid value for 'RUN': it is not UTF-8"),
        (("search", "a", "\udcff"), 2, "Invalid value for 'WORDS...': it is not UTF-8"),
        (("--home", "/tmp/\udcff", "runs"), 3, "The options: home is not UTF-8"),
        (("--project", "\udcff", "runs"), 3, "The options: project is not UTF-8"),
    ],
)
async def test_a_word_that_is_not_utf_8_is_named(
    shell: Shell, words: tuple[str, ...], code: int, named: str
) -> None:
    shell.configure("http://127.0.0.1:9")
    result = await shell.run(*words)
    assert (result.code, named in result.err) == (code, True), result.err
    assert not shell.home.exists()


@pytest.mark.req("not-utf-8-named")
async def test_a_folder_whose_name_is_not_utf_8_is_named(shell: Shell) -> None:
    shell.configure("http://127.0.0.1:9")
    folder = shell.cwd / os.fsdecode(b"donn\xe9es")
    folder.mkdir()
    result = await shell.run("run", "Hello.", "--folder", str(folder))
    assert result.code == 4
    assert "donn\\udce9es" in result.err and "Rename" in result.err


@pytest.mark.req("cli-stdin")
async def test_at_a_terminal_the_missing_prompt_is_explained(
    shell: Shell,
    terminal: Terminal,  # noqa: F811
) -> None:
    shell.configure("http://127.0.0.1:9")
    result = await finish(await start_at(shell, terminal, "run", NO_COLOR="1"))
    assert result.code == 2
    await terminal.until("pass it as an argument or on stdin")


@pytest.mark.req("cli-names-sources")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--project", "bad name", "runs"), "The options: project: must be 1 to 64 letters"),
        (("run", "Hi", "--model", "openia/gpt-5"), "Did you mean 'openai'?"),
        (("run", "Hi", "--model", "gpt-4o"), "Did you mean openai/gpt-4o?"),
        (("run", "Hi", "--model", "claude-opus-4-5"), "Did you mean anthropic/claude-opus-4-5?"),
    ],
)
async def test_a_wrong_name_is_corrected(shell: Shell, words: tuple[str, ...], said: str) -> None:
    result = await shell.run(*words)
    assert result.code == 3
    assert said in result.err
    assert "artificer.toml: project" not in result.err


@pytest.mark.req("cli-names-sources")
async def test_a_wrong_variable_is_blamed(shell: Shell) -> None:
    result = await shell.run("runs", env={"ARTIFICER_PROJECT": "bad name"})
    assert result.err.startswith("error: $ARTIFICER_PROJECT: project: must be")


BIG = str(2**53)


@pytest.mark.req("cli-numbers")
@pytest.mark.parametrize("number", ["nan", "inf", "1e400", BIG])
def test_no_option_takes_a_number_that_cannot_be_recorded(number: str) -> None:
    seen = 0
    for command in commands(cli):
        for param in command.params:
            is_whole = isinstance(param.type, click.types.IntParamType)
            if is_whole or (isinstance(param.type, click.types.FloatParamType) and number != BIG):
                seen += 1
                with pytest.raises(click.BadParameter):
                    param.type.convert(number, param, click.Context(command))
    assert seen > 20


@pytest.mark.req("cli-numbers")
async def test_a_wrong_number_is_wrong_usage(shell: Shell) -> None:
    for words in (
        ("budget", "--reason", "why", "--set-dollars", "nan"),
        ("budget", "--reason", "why", "--set-dollars", "10000000000"),
        ("budget", "--reason", "why", "--set-tokens", str(10**20)),
        ("workspace", "show", "x", "--version", str(10**20)),
        ("run", "Hi", "--max-turns", str(10**20)),
        ("gc", "--older-than", "nan"),
    ):
        result = await shell.run(*words)
        assert result.code == 2, result.err
        assert words[-1] in result.err
    assert not shell.home.exists()


@pytest.mark.req("cli-no-run-named")
async def test_an_empty_name_is_not_the_only_run(shell: Shell) -> None:
    async with StrictServer(Says("Because.")) as server:
        shell.configure(server.url)
        assert (await shell.run("run", "--kind", "chat", "Why?")).code == 0
    for words in (("show", ""), ("prune", "", "--forever"), ("cancel", ""), ("resume", "")):
        result = await shell.run(*words)
        assert result.code == 3
        assert "No run matches ''" in result.err
    assert (await shell.run("runs", "--json")).json()[0]["status"] == "completed"


@pytest.mark.req("cli-names-sources")
async def test_a_file_that_is_no_recording_is_named(shell: Shell) -> None:
    (shell.cwd / "bad.json").write_text('{"a": 1}\n', encoding="utf-8")
    result = await shell.run("import", "bad.json")
    assert result.code == 1
    assert "bad.json: This file is not a recording" in result.err
    assert "Error:" not in result.err and "InvalidValueError" not in result.err


CLOSED = """
import os, sys
os.closerange(0, 3)
os.execv(sys.executable, [sys.executable, "-m", "artificer", *sys.argv[1:]])
"""


@pytest.mark.req("cli-closed-streams")
async def test_closed_streams_are_empty(shell: Shell) -> None:
    async with StrictServer(Says("Because.")) as server:
        shell.configure(server.url)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", CLOSED, "run", "--kind", "chat", "Why?"),
            cwd=shell.cwd,
            env=shell.environment({}),
        )
        assert await process.wait() == 0
    assert (await shell.run("verify")).code == 0
    assert (await shell.run("runs", "--json")).json()[0]["status"] == "completed"


@pytest.mark.req("cli-hangup")
async def test_a_closed_terminal_ends_a_run_in_order(shell: Shell) -> None:
    async with StrictServer(Hangs("Well, I am")) as server:
        shell.configure(server.url)
        process = await shell.start("run", "--kind", "chat", "Tell me all.")
        await until(lambda: bool(server.seen))
        process.send_signal(signal.SIGHUP)
        result = await finish(process)
    assert result.code == 129
    assert "interrupted; resume with: artificer resume " in result.err


@pytest.mark.req("cli-table-width")
async def test_a_list_of_runs_fits_a_narrow_terminal(
    shell: Shell,
    terminal: Terminal,  # noqa: F811
) -> None:
    async with StrictServer(Says("Yes.")) as server:
        shell.configure(server.url)
        await shell.run("run", "--kind", "chat", "A prompt of very many words " * 5)
    side = terminal.slave
    process = await shell.start("runs", env={"COLUMNS": "100"}, stdout=side, stderr=side)
    assert (await finish(process)).code == 0
    await terminal.until("A prompt")
    assert max(map(len, terminal.seen.splitlines())) <= 100
    assert os.isatty(side)
