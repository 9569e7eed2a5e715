"""Ctrl-C: the first one puts everything in order, the second one does not wait."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from cli_kit import Shell, finish, lines_until, until
from strict_server import Calls, Hangs, Says, StrictServer

from artificer.cli.interruptible import SIGNALS, run_async
from artificer.errors import OperatorError

BEGUN = "import sys, time; print('x', file=open(sys.argv[1], 'w'), flush=True); time.sleep(40)"

SLEEPER = f"""
tool = {{ name = "sleeper", version = "1", description = "Sleep.", timeout_seconds = 50 }}
args.file = {{ type = "path", required = true }}
command.exec = ["python3", "-c", {json.dumps(BEGUN)}, "{{file}}"]
"""

STUBBORN = """
import asyncio
from artificer.cli.interruptible import run_async

async def work():
    print("ready", flush=True)
    while True:
        try:
            await asyncio.sleep(50)
        except asyncio.CancelledError:
            print("cancelled", flush=True)

run_async(work())
"""


EARLY = """
import sys

class Interrupted:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
from artificer.__main__ import main
main()
"""


@pytest.mark.req("cli-interrupt")
def test_an_interrupt_while_the_program_starts_has_no_traceback() -> None:
    ended = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


@pytest.mark.req("cli-interrupt")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_run_that_is_interrupted_can_be_resumed(
    shell: Shell, number: signal.Signals, code: int
) -> None:
    async with StrictServer(Hangs("Well"), Says("Well, here it is.")) as server:
        shell.configure(server.url)
        process = await shell.start("run", "--kind", "chat", "Think")
        run_id = (await lines_until(process.stderr, "run ")).split()[1]
        await until(lambda: bool(server.seen))
        process.send_signal(number)
        ended = await finish(process)
        assert ended.code == code
        assert ended.out == ""
        assert ended.err == f"interrupted; resume with: artificer resume {run_id}\n"
        assert [run["status"] for run in (await shell.run("runs", "--json")).json()] == ["open"]
        done = await shell.run("resume", "last")
    assert (done.code, done.out) == (0, "Well, here it is.\n")
    resumed, answered, *_ = done.err.splitlines()
    assert resumed == f"run {run_id} · resumed"
    assert answered.startswith("turn 1  ")
    assert (await shell.run("replay", run_id)).code == 0


@pytest.mark.req("cli-interrupt-input")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_command_that_waits_for_its_input_ends_at_the_first_signal(
    shell: Shell, number: signal.Signals, code: int
) -> None:
    shell.configure("http://localhost:1")
    process = await shell.start("run", "--kind", "chat", stdin=asyncio.subprocess.PIPE)
    await lines_until(process.stderr, "reading stdin")
    process.send_signal(number)
    assert await process.wait() == code

    os.mkfifo(shell.cwd / "pipe")
    for words in (
        ("run", "--kind", "chat", "Look.", "--attach", "pipe"),
        ("import", "pipe"),
        ("verify", "--against", "pipe"),
    ):
        process = await shell.start(*words)
        writer = await asyncio.to_thread(os.open, shell.cwd / "pipe", os.O_WRONLY)
        process.send_signal(number)
        assert (await finish(process)).code == code
        os.close(writer)
    assert (await shell.run("runs", "--json")).json() == []


LATE = """
import os, signal, threading, time
from artificer.cli.interruptible import interrupted_at_once
from artificer.cli.terminal.exits import Interrupted

def receive():
    time.sleep(0.3)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

threading.Thread(target=receive).start()
try:
    with interrupted_at_once():
        os.read(os.pipe()[0], 1)
except Interrupted:
    print("interrupted")
"""


@pytest.mark.req("cli-interrupt-input")
def test_a_signal_that_interrupts_no_system_call_ends_the_wait() -> None:
    """Another thread receives it; one that comes just before the call begins is as late."""
    words = [sys.executable, "-c", LATE]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert done.stdout == "interrupted\n"


@pytest.mark.req("cli-interrupt")
async def test_a_tool_under_way_is_ended_and_answered_after_the_resume(shell: Shell) -> None:
    tools = shell.cwd / "tools"
    tools.mkdir()
    (tools / "sleeper.clad.toml").write_text(SLEEPER, encoding="utf-8")
    async with StrictServer(
        Calls(("sleeper", '{"file": "begun"}')), Says("It did not end.")
    ) as server:
        shell.configure(server.url)
        process = await shell.start("run", "--kind", "chat", "Sleep", "--tools", "tools")
        await lines_until(process.stderr, "turn 1")
        await until(lambda: any(path.stat().st_size for path in shell.cwd.rglob("begun")))
        process.send_signal(signal.SIGINT)
        assert (await finish(process)).code == 130
        done = await shell.run("resume", "last")
        assert server.refused == []
        (answer,) = [m for m in server.seen[-1].body["messages"] if m["role"] == "tool"]
    assert (done.code, done.out) == (0, "It did not end.\n"), done.err
    assert '"ok":false' in answer["content"]


@pytest.mark.req("cli-cancel")
@pytest.mark.parametrize("dies_first", [True, False])
async def test_a_run_that_is_cancelled_during_a_call_replays(
    shell: Shell, dies_first: bool
) -> None:
    """The next request to the model is recorded as its own provider would send it."""
    tools = shell.cwd / "tools"
    tools.mkdir()
    (tools / "sleeper.clad.toml").write_text(SLEEPER, encoding="utf-8")
    async with StrictServer(Calls(("sleeper", '{"file": "begun"}'))) as server:
        shell.configure(server.url)
        process = await shell.start("run", "--kind", "chat", "Sleep", "--tools", "tools")
        await lines_until(process.stderr, "turn 1")
        await until(lambda: any(path.stat().st_size for path in shell.cwd.rglob("begun")))
        if dies_first:
            process.kill()
            await process.wait()
        cancelled = await shell.run("cancel", "last")
        if not dies_first:
            process.terminate()
        await finish(process)
    assert (cancelled.code, cancelled.out) == (0, "cancelled\n")
    replayed = await shell.run("replay", "last")
    assert replayed.code == 0, replayed.out
    assert "2 model requests" in replayed.out


@pytest.mark.req("cli-interrupt-twice")
async def test_the_second_signal_ends_what_does_not_end() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        STUBBORN,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    await lines_until(process.stdout, "ready")
    process.send_signal(signal.SIGINT)
    await lines_until(process.stdout, "cancelled")
    process.send_signal(signal.SIGINT)
    ended = await finish(process)
    assert ended.code == 130
    assert ended.err == ""


@pytest.mark.req("cli-interrupt")
async def test_an_interrupt_before_the_model_is_asked_leaves_a_run_too(shell: Shell) -> None:
    async with StrictServer(Hangs("Well")) as server:
        shell.configure(server.url)
        process = await shell.start("run", "--kind", "chat", "Think")
        await lines_until(process.stderr, "run ")
        process.send_signal(signal.SIGINT)
        assert (await finish(process)).code == 130
    async with StrictServer(Says("Here it is.")) as server:
        shell.configure(server.url)
        done = await shell.run("resume", "last")
    assert (done.code, done.out) == (0, "Here it is.\n")


@pytest.mark.req("cli-no-threads")
def test_a_process_that_may_start_no_thread_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def work() -> None:
        await asyncio.to_thread(print)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(OperatorError, match="cannot start another thread"):
        run_async(work())


@pytest.mark.req("cli-in-process")
async def test_a_command_in_a_thread_leaves_signals_to_the_program(shell: Shell) -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    assert (await shell.run("runs")).code == 0
    assert [signal.getsignal(number) for number in SIGNALS] == before
