"""``run --submit`` and ``worker``."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import httpx
import pytest
from cli_kit import Shell, lines_until
from paced_double import PacedDouble
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
    (asked,) = (line for line in lines if line["message"] == "model")
    assert (asked["run"], asked["outcome"], asked["attempts"]) == (run, "end_turn", 1)
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


@pytest.mark.req("health", "metrics")
async def test_a_worker_answers_probes_and_prometheus(shell: Shell) -> None:
    async with PacedDouble() as model:
        shell.configure(model.url)
        submitted = await shell.run("run", "--submit", "--kind", "chat", "Hi")
        worker = await shell.start("worker", "--health", ":0")
        address = json.loads(await lines_until(worker.stderr, "ready"))["health"]
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            assert (await client.get("/healthz")).text == "ok\n"
            assert (await client.get("/readyz")).text == "ok\n"
            await lines_until(worker.stderr, submitted.out.strip())
            metrics = (await client.get("/metrics")).text
            assert "artificer_executing_runs 1\n" in metrics
            model.text("Hello.")
            model.end()
            await lines_until(worker.stderr, '"executed"')
            metrics = (await client.get("/metrics")).text
        assert 'artificer_segments_total{ended="over"} 1\n' in metrics
        assert "artificer_lost_leases_total 0\n" in metrics
        assert "artificer_turns_total 1\n" in metrics
        assert "artificer_executing_runs 0\n" in metrics
        worker.send_signal(signal.SIGTERM)
        await worker.communicate()
        assert worker.returncode == 0


@pytest.mark.req("cli-worker")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["run", "--submit", "--out", "here", "Hi"], "--out cannot be combined with --submit"),
        (["run", "--submit", "--unattended", "Hi"], "--unattended cannot be combined"),
        (["run", "--tenant", "a", "Hi"], "--tenant needs --submit"),
        (["run", "--submit", "--lane", "a b", "Hi"], "--lane: use 1 to 64"),
        (["worker", "--health", "here"], "not an address to listen on"),
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


@pytest.mark.req("cli-worker", "http-worker-owner", "health")
async def test_a_worker_over_http_executes_what_a_studio_hands_out(
    shell: Shell, tmp_path: Path
) -> None:
    """Its own folder has no world; nobody else takes the run while it works."""
    (tmp_path / "elsewhere").mkdir()
    elsewhere = Shell(tmp_path / "elsewhere")
    async with PacedDouble() as model:
        for one in (shell, elsewhere):
            one.configure(model.url)
        token = await shell.run("studio", "token", "new", "gpu-1", "--scope", "work")
        env = {"ARTIFICER_API_TOKEN": token.out.strip()}
        studio = await shell.start("studio", "--no-open", "--port", "0")
        address = (await lines_until(studio.stdout, "http://")).split("?")[0]
        worker = await elsewhere.start("worker", "--api", address, "--health", ":0", env=env)
        health = json.loads(await lines_until(worker.stderr, '"ready"'))["health"]
        submitted = await shell.run("run", "--submit", "--kind", "chat", "Hi")
        run = submitted.out.strip()
        await lines_until(worker.stderr, run)
        refused = await shell.run("resume", run)
        assert refused.code != 0
        assert "owned by the worker gpu-1 (token " in refused.err
        assert "its lease ends at" in refused.err and "--take-over" in refused.err
        async with httpx.AsyncClient(base_url=health, timeout=60) as client:
            assert (await client.get("/readyz")).text == "ok\n"
            metrics = (await client.get("/metrics")).text
            assert "artificer_executing_runs 1\n" in metrics
            assert "artificer_runs{" not in metrics, "what the studio alone may tell"
            model.text("Good morning.")
            model.end()
            await lines_until(worker.stderr, '"executed"')
            studio.send_signal(signal.SIGTERM)
            await lines_until(worker.stderr, "no job can be leased")
            ready = await client.get("/readyz")
            assert (ready.status_code, ready.text) == (503, "studio\n")
            assert (await client.get("/healthz")).text == "ok\n"
        await studio.communicate()
        worker.send_signal(signal.SIGTERM)
        await worker.communicate()
        assert worker.returncode == 0
    assert (await shell.run("runs", "--status", "completed")).out.count(run) == 1
    assert "Good morning." in (await shell.run("show", run)).out


@pytest.mark.req("cli-worker")
async def test_an_address_that_is_none_is_refused(shell: Shell) -> None:
    result = await shell.run("worker", "--api", "studio", env={"ARTIFICER_API_TOKEN": "t"})
    assert result.code == 3
    assert "--api studio: that is not the address of a studio" in result.err
