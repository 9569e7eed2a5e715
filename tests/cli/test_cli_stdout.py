"""Output of a command is there whole on stdout, or the exit code says that it is not."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from cli_kit import Shell, finish

from artificer import Agent, ScriptedProvider, World, load_config
from artificer.providers.scripted import say

SIZE = 300_000
"""More characters than a pipe holds."""

BUFFERING = {"buffered": dict[str, str](), "unbuffered": {"PYTHONUNBUFFERED": "1"}}

COMMANDS = (
    "show last --json",
    "export last -o -",
    "workspace show notes long.txt",
)


@pytest.fixture
async def long(shell: Shell) -> Shell:
    """A shell with a run and a workspace that do not fit into a pipe."""
    text = os.urandom(SIZE).hex()
    agent = Agent(ScriptedProvider([say(text)]), kind="chat")
    async with World.open(load_config(home=shell.home, project="test")) as world:
        assert (await world.run("Go.", agent)).status == "completed"
    (shell.cwd / "notes").mkdir()
    (shell.cwd / "notes" / "long.txt").write_text(text)
    assert (await shell.run("workspace", "commit", "notes", "notes")).code == 0
    return shell


async def onto_a_small_disk(shell: Shell, file: Path, command: str, env: dict[str, str]) -> int:
    """Perform a command whose files may have 100,000 bytes. Return its exit code."""
    limited = 'ulimit -f 200; exec "$@" >"$FILE"'  # in blocks of 512 bytes
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", limited, "sh", sys.executable, "-m", "artificer", *command.split()),
        cwd=shell.cwd,
        env=shell.environment({"FILE": str(file), **env}),
        stderr=asyncio.subprocess.PIPE,
    )
    return (await finish(process)).code


@pytest.mark.req("cli-stdout-whole")
@pytest.mark.parametrize("env", BUFFERING.values(), ids=BUFFERING)
async def test_a_full_disk_is_an_error(long: Shell, tmp_path: Path, env: dict[str, str]) -> None:
    for command in COMMANDS:
        assert await onto_a_small_disk(long, tmp_path / "o", command, env) == 3, command
        assert 0 < (tmp_path / "o").stat().st_size < SIZE


@pytest.mark.req("cli-pipe")
@pytest.mark.parametrize("env", BUFFERING.values(), ids=BUFFERING)
async def test_a_reader_that_goes_in_the_middle_is_told_of(
    long: Shell, env: dict[str, str]
) -> None:
    for command in COMMANDS:
        reading, writing = os.pipe()
        process = await long.start(*command.split(), env=env, stdout=writing)
        os.close(writing)
        assert await asyncio.to_thread(os.read, reading, 10)
        os.close(reading)
        ended = await finish(process)
        assert (ended.code, ended.err) == (141, ""), command


@pytest.mark.req("cli-pipe")
@pytest.mark.parametrize("env", BUFFERING.values(), ids=BUFFERING)
async def test_a_reader_that_never_was_there_is_told_of(shell: Shell, env: dict[str, str]) -> None:
    for command in ("--help", "--version", "runs --help", "completion bash"):
        reading, writing = os.pipe()
        os.close(reading)
        process = await shell.start(*command.split(), env=env, stdout=writing)
        os.close(writing)
        ended = await finish(process)
        assert (ended.code, ended.err) == (141, ""), command


@pytest.mark.req("cli-stdout-whole")
@pytest.mark.parametrize("env", BUFFERING.values(), ids=BUFFERING)
async def test_a_few_bytes_onto_a_full_disk_are_an_error(shell: Shell, env: dict[str, str]) -> None:
    for command in ("--help", "completion bash"):
        full = os.open("/dev/full", os.O_WRONLY)
        process = await shell.start(*command.split(), env=env, stdout=full)
        os.close(full)
        ended = await finish(process)
        assert ended.code == 3, command
        assert ended.err.startswith("error: No space left on device")
        assert len(ended.err.splitlines()) == 2


PIECES = """
import os, sys
from artificer.cli.terminal.console import prepare
prepare()
sys.stdout.write("text, ")
sys.stdout.buffer.write(b"bytes")
os._exit(0)
"""


@pytest.mark.req("cli-stdout-whole")
@pytest.mark.parametrize(
    ("env", "seen"),
    [({}, b""), ({"PYTHONUNBUFFERED": "1"}, b"text, bytes")],
    ids=BUFFERING,
)
async def test_output_is_seen_at_once_where_that_was_asked_for(
    shell: Shell, env: dict[str, str], seen: bytes
) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PIECES), env=shell.environment(env), stdout=asyncio.subprocess.PIPE
    )
    assert (await process.communicate())[0] == seen
