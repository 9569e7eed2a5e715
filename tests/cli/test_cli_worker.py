"""``run --submit`` and ``worker``."""

from __future__ import annotations

import json
import signal

import pytest
from cli_kit import Shell
from strict_server import Says, StrictServer


@pytest.mark.req("cli-worker")
async def test_a_submitted_run_is_executed_by_a_worker(shell: Shell) -> None:
    async with StrictServer(Says("Good morning.")) as server:
        shell.configure(server.url)
        submitted = await shell.run("run", "--submit", "--kind", "chat", "--tenant", "a", "Hi")
        assert submitted.code == 0, submitted.err
        run = submitted.out.strip()
        assert server.seen == []
        worked = await shell.run("worker", "--until-idle")
    assert worked.code == 0, worked.err
    assert worked.out == ""
    lines = [json.loads(line) for line in worked.err.splitlines()]
    assert {line["run"] for line in lines if line["message"] == "executed"} == {run}
    assert "Good morning." not in worked.err
    assert (await shell.run("runs", "--status", "completed")).out.count(run) == 1


@pytest.mark.req("cli-worker")
async def test_a_signal_stops_a_worker_in_order(shell: Shell) -> None:
    shell.configure("http://127.0.0.1:9")
    worker = await shell.start("worker")
    assert worker.stderr is not None
    line = json.loads(await worker.stderr.readline())
    assert (line["message"], line["slots"]) == ("ready", 8)
    worker.send_signal(signal.SIGTERM)
    _, err = await worker.communicate()
    assert worker.returncode == 0
    assert json.loads(err.splitlines()[-1])["message"] == "stopped"


@pytest.mark.req("cli-worker")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["run", "--submit", "--out", "here", "Hi"], "--out cannot be combined with --submit"),
        (["run", "--submit", "--unattended", "Hi"], "--unattended cannot be combined"),
        (["run", "--tenant", "a", "Hi"], "--tenant needs --submit"),
        (["run", "--submit", "--lane", "a b", "Hi"], "--lane: use 1 to 64"),
        (["worker", "--dispatcher", "pigeons"], "Unknown dispatcher: 'pigeons'"),
    ],
)
async def test_what_means_nothing_is_refused(shell: Shell, words: list[str], problem: str) -> None:
    shell.configure("http://127.0.0.1:9")
    result = await shell.run(*words)
    assert result.code in (2, 3)
    assert problem in result.err


@pytest.mark.req("cli-worker")
async def test_the_answer_may_be_json(shell: Shell) -> None:
    shell.configure("http://127.0.0.1:9")
    answer = (await shell.run("run", "--submit", "--json", "Hi")).json()
    assert answer == {"run": answer["run"], "status": "open"}
