"""Looking at what was recorded: runs, show, replay, verify, open, cancel."""

from __future__ import annotations

import json
import re
import sqlite3
import xml.etree.ElementTree as ElementTree
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cli_kit import Shell, text_of

from artificer import Policy, Rule, World, load_config
from artificer.agent import Agent
from artificer.cli.terminal.approver import user_name
from artificer.contracts.capabilities import Capabilities, Host
from artificer.core.record import EventLine, encode
from artificer.core.signals import Cancel, read_signal
from artificer.ports import Head, Record
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.fork import ForkChanges
from artificer.storage.sqlite import SqliteJournal
from artificer.system.clock import SystemClock
from artificer.values.base import Value
from artificer.values.canon import digest_of
from artificer.values.model import ModelFailure

CHART = call(
    "create_bar_chart", id="c", title="C", labels=["a"], series=[{"name": "n", "values": [1]}]
)
LIST = {"kind": "list", "id": "s", "items": ["x"]}
UNREACHABLE = ModelFailure(code="unavailable", message="connection refused")


@pytest.fixture
async def world(shell: Shell) -> AsyncIterator[World]:
    async with World.open(load_config(home=shell.home, project="test")) as opened:
        yield opened


async def finished(world: World) -> str:
    """A report of two turns with an allowed, a denied and an invalid call."""
    calls = reply(CHART, call("create_file", name="x"), call("create_list", list=LIST))
    run = await world.run(
        "A chart, please",
        Agent(
            model=ScriptedProvider([calls, say("# Chart\n\n{{artifact:chart:c}}")]),
            kind="deliver",
            policy=Policy(rules=(Rule(tool="create_list", decision="deny", reason="no lists"),)),
        ),
    )
    assert run.status == "completed"
    return run.id


async def stalled(world: World) -> str:
    run = await world.run(
        "Anybody there?", Agent(model=ScriptedProvider([UNREACHABLE]), kind="chat")
    )
    assert run.status == "stalled"
    return run.id


@pytest.mark.req("cli-runs")
async def test_runs_are_listed_with_status_and_prompt(shell: Shell, world: World) -> None:
    first, second = await finished(world), await stalled(world)
    rows = (await shell.run("runs")).out.splitlines()
    assert [row.split()[0] for row in rows] == ["RUN", first, second]
    assert "deliver  completed" in rows[1]
    assert rows[1].endswith("scripted/scripted  A chart, please")
    assert "chat     stalled" in rows[2]
    newest = await shell.run("runs", "--limit", "1", "--json")
    assert [run["run"] for run in newest.json()] == [second]
    assert "older runs" in (await shell.run("runs", "--limit", "1")).err
    assert (await shell.run("runs", "--limit", "2")).err == ""


@pytest.mark.req("cli-runs")
async def test_a_world_without_runs_is_no_error(shell: Shell) -> None:
    result = await shell.run("runs")
    assert (result.code, result.out) == (0, "")
    assert (await shell.run("show", "last")).code == 3


@pytest.mark.req("cli-find")
async def test_a_run_is_named_by_a_unique_beginning_or_last(shell: Shell, world: World) -> None:
    first, second = await finished(world), await stalled(world)
    for word, code, text in (
        (first[:-1], 0, f"run      {first}"),
        ("last", 0, f"run      {second}"),
        ("0", 3, "2 runs begin with '0'"),
        ("nope", 3, "No run matches 'nope'"),
    ):
        result = await shell.run("show", word)
        assert result.code == code
        assert text in result.out + result.err


@pytest.mark.req("cli-show-html")
async def test_a_page_shows_how_a_run_was_made(shell: Shell, world: World, tmp_path: Path) -> None:
    run = await finished(world)
    made = tmp_path / "made.html"
    assert (await shell.run("show", run, "--html", str(tmp_path))).out.strip() == str(made)
    page = made.read_text(encoding="utf-8")
    history = await world.archive.history(run)
    assert page.count("<li ") == len(history.lines)
    assert '<li class="event refused"' in page
    assert "create_file: invalid" in page
    assert "no lists" in page
    assert '<a href="report.html">' in page
    assert '<a href="made.html">' in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.req("cli-show-html")
async def test_what_a_model_wrote_is_text_on_that_page(
    shell: Shell, world: World, tmp_path: Path
) -> None:
    hostile = call("<script>alert(1)</script>", x="</style><img src=x onerror=alert(1)>")
    model = ScriptedProvider([reply(hostile), say("<script>alert(2)</script>")])
    run = await world.run("</title><script>alert(3)</script>", Agent(model=model, kind="deliver"))
    assert (await shell.run("show", run.id, "--html", str(tmp_path))).code == 0
    page = (tmp_path / "made.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("</style>") == 1


@pytest.mark.req("cli-show-html")
async def test_an_unfinished_run_has_that_page_and_no_report(
    shell: Shell, world: World, tmp_path: Path
) -> None:
    run = await stalled(world)
    assert (await shell.run("show", run, "--html", str(tmp_path / "made"))).code == 0
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["made.html"]


@pytest.mark.req("cli-show")
async def test_show_tells_turns_decisions_receipts_and_tokens(shell: Shell, world: World) -> None:
    run = await finished(world)
    text = (await shell.run("show", run)).out
    assert "used     2 turns · 20 tokens in, 10 out" in text
    assert "policy   1 rule, otherwise allow" in text
    assert text.index("turn 1") < text.index("JudgeCalls") < text.index("turn 2")
    assert "create_bar_chart: allow by default" in text
    assert "create_list: denied by rule 1: no lists" in text
    assert "create_file: invalid: /content: is required" in text
    assert "create_bar_chart · ok · " in text
    assert "artifact chart:c" in text
    numbers = [line.split()[0] for line in text.splitlines() if line[:5].strip().isdigit()]
    assert numbers == [str(n) for n in range(1, len((await world.archive.history(run)).lines) + 1)]


@pytest.mark.req("cli-show")
async def test_raw_records_leave_nothing_out(shell: Shell, world: World) -> None:
    run = await finished(world)
    lines = (await shell.run("show", run, "--raw")).out.splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["seq"] for record in records] == list(range(1, len(lines) + 1))
    assert "create_scatter_chart" in records[0]["event"]["spec"]["toolset"]
    last = digest_of(lines[-1].encode())
    found = (await shell.run("verify", "--json")).json()
    assert found["heads"] == {run: {"seq": len(lines), "hash": last}}
    assert (await shell.run("show", run, "--json")).json()["records"] == records


@pytest.mark.req("cli-replay")
async def test_replay_prints_identical_and_the_digest(shell: Shell, world: World) -> None:
    run = await finished(world)
    result = await shell.run("replay", run)
    state = (await world.get(run)).state
    assert result.code == 0
    first, second = result.out.splitlines()
    assert first.startswith("identical: ")
    assert first.endswith(" 2 model requests")
    assert second == f"state {state.digest}"
    assert (await shell.run("replay", run, "--json")).json()["identical"] is True


@pytest.mark.req("cli-replay")
async def test_replay_names_the_first_divergence(shell: Shell, world: World) -> None:
    history = await world.archive.history(await finished(world))
    await forge(shell.world / "journal.db", list(history.lines), "forged", at=3)
    result = await shell.run("replay", "forged")
    assert result.code == 1
    assert result.out.startswith("diverged at record 3: state after ModelResponded")
    assert f"recorded  sha256:{'0' * 64}" in result.out
    told = (await shell.run("replay", "forged", "--json")).json()
    assert (told["identical"], told["divergence"]["seq"]) == (False, 3)


async def forge(path: Path, lines: list[object], run: str, *, at: int) -> None:
    """Write a well-chained copy of a run in which one state's digest is another."""
    head, records = Head(), []
    for line in lines:
        assert isinstance(line, Value)
        update = {"run": run, "prev": head.hash}
        if isinstance(line, EventLine) and line.seq == at:
            update["state"] = f"sha256:{'0' * 64}"
        copied = line.replace(**update)
        body, _ = encode(copied)
        head = Head(seq=copied.seq, hash=digest_of(body))
        records.append(Record(run, head.seq, head.hash, body))
    async with SqliteJournal(path) as journal:
        lease = await journal.acquire(run)
        await journal.append(run, lease.epoch, Head(), records)


@pytest.mark.req("kept-heads")
@pytest.mark.parametrize("options", [(), ("--json",)])
async def test_verify_compares_with_heads_that_were_kept(
    shell: Shell, world: World, tmp_path: Path, options: tuple[str, ...]
) -> None:
    run, kept = await finished(world), tmp_path / "heads"
    kept.write_text((await shell.run("verify", *options)).out)
    await finished(world)
    endless = await shell.run("verify", "--against", "/dev/zero")
    assert endless.code == 3 and "more than 67,108,864 bytes" in endless.err
    good = await shell.run("verify", "--against", str(kept))
    assert good.code == 0 and good.err.startswith("sound: 2 runs")
    assert [line.split()[:2] for line in good.out.splitlines()] == [
        ["same", run],
        ["extends", "(world)"],
    ]
    kept.write_text(kept.read_text().replace("sha256:", "sha256:0"))
    bad = await shell.run("verify", "--against", str(kept), "--json")
    assert bad.code == 1 and bad.json()["sound"] is False
    relations = {name: found["relation"] for name, found in bad.json()["against"].items()}
    assert relations == {run: "diverged", "(world)": "diverged"}
    assert any("another hash" in problem for problem in bad.json()["problems"])


@pytest.mark.req("kept-heads")
async def test_what_are_no_heads_is_the_users_turn(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("something else")
    (tmp_path / "binary").write_bytes(b"\xff")
    for name in ("other", "binary", "absent"):
        found = await shell.run("verify", "--against", str(tmp_path / name))
        assert found.code == 3 and "artificer verify" in found.err


@pytest.mark.req("cli-verify")
async def test_verify_is_quiet_about_what_is_sound_and_names_what_is_not(
    shell: Shell, world: World
) -> None:
    run = await finished(world)
    sound = await shell.run("verify")
    assert sound.code == 0
    assert sound.err.startswith("sound: 1 run, ")
    assert re.fullmatch(rf"{run}  \d+  sha256:\w+\n\(world\)  \d+  sha256:\w+\n", sound.out)

    blob = next(path for path in (shell.world / "blobs").rglob("*") if path.is_file())
    blob.chmod(0o600)
    blob.write_bytes(b"other bytes")
    db = sqlite3.connect(shell.world / "journal.db")
    db.execute("DROP TRIGGER IF EXISTS records_are_kept")
    changed = "CAST(replace(CAST(body AS TEXT), 'please', 'plaese') AS BLOB)"
    db.execute(f"UPDATE records SET body = {changed} WHERE seq = 1")
    db.commit()
    db.close()
    broken = await shell.run("verify")
    assert broken.code == 1
    problems = [line for line in broken.out.splitlines() if line.startswith("problem: ")]
    assert any(blob.name in problem for problem in problems)
    assert any(run in problem and "1" in problem for problem in problems)
    assert (await shell.run("verify", "--json")).json()["sound"] is False
    assert (await shell.run("show", run)).code == 1
    assert (await shell.run("runs")).out.splitlines()[1].split()[1] == "unreadable"


@pytest.mark.req("cli-open")
async def test_open_makes_the_page_and_prints_it_where_there_is_no_display(
    shell: Shell, world: World
) -> None:
    run = await finished(world)
    result = await shell.run("open", run)
    assert result.code == 0
    assert "no display" in result.err
    page = Path(result.out.strip())
    assert page == shell.world / "runs" / run / "report.html"
    assert "<svg" in text_of(page)
    assert (await shell.run("open", run, "--print")).err == ""
    unfinished = await shell.run("open", await stalled(world))
    assert unfinished.code == 3
    assert "artificer resume" in unfinished.err


@pytest.mark.req("cli-cancel")
async def test_cancel_ends_a_run_and_keeps_what_exists(shell: Shell, world: World) -> None:
    run = await stalled(world)
    result = await shell.run("cancel", run, "--reason", "nobody home")
    assert (result.code, result.out) == (0, "cancelled\n")
    assert "CancelRequested    " in (shown := (await shell.run("show", run)).out)
    assert "nobody home" in shown
    entries = [json.loads(line) for line in (await shell.run("audit")).out.splitlines()]
    assert [entry["by"] for entry in entries if entry["what"] == "cancel"] == [user_name()]
    assert (await shell.run("replay", run)).code == 0
    again = await shell.run("cancel", run)
    assert (again.code, again.out) == (0, "cancelled\n")
    assert "had already ended" in again.err
    assert (await shell.run("resume", run)).code == 5


@pytest.mark.req("idle-ends-at-once")
async def test_cancel_does_not_wait_for_a_worker_to_end_a_run_that_waits(
    shell: Shell, world: World
) -> None:
    agent = Agent(ScriptedProvider([UNREACHABLE]), kind="chat")
    run = await world.submit("Anybody there?", agent)
    await world.resume(run, agent)
    assert (await shell.run("cancel", run)).out == "cancelled\n"
    assert await world.storage.signals.read(run) == []  # nobody was asked to


@pytest.mark.req("cancel-by")
async def test_the_worker_of_a_run_learns_who_cancels_it_and_why(
    shell: Shell, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("artificer.cli.signals.cancel.CHECKS", 1)
    run = await world.submit("Hi", Agent(ScriptedProvider([]), kind="chat"))
    await shell.run("cancel", run, "--reason", "too late")
    ((_, body),) = await world.storage.signals.read(run)
    assert read_signal(body) == Cancel(by=user_name(), reason="too late")


@pytest.mark.req("queued-shown")
async def test_show_says_which_runs_wait_for_a_worker(shell: Shell, world: World) -> None:
    agent = Agent(ScriptedProvider([]), kind="chat")
    queued = await world.submit("Hi", agent)
    async with World.in_memory() as elsewhere:
        run = await elsewhere.submit("Hi", agent)
        imported = await world.import_run(await elsewhere.archive.export_run(run))
    assert "\nstatus   queued\n" in (await shell.run("show", queued)).out
    assert "\nstatus   open\n" in (await shell.run("show", imported)).out


@pytest.mark.req("cli-fork")
async def test_fork_goes_on_from_a_record_and_says_which(shell: Shell, world: World) -> None:
    run = await stalled(world)
    result = await shell.run("fork", run, "--at", "2", "--steer", "Hello?", "--model", "scripted/m")
    assert "record 2 is mid-turn: copied up to record 1" in result.err
    assert f"forked from {run} after record 1" in result.err
    assert "changed: model" in result.err
    assert result.code == 4, "its script holds no answer"
    assert (await shell.run("replay", "last")).code == 0
    assert "RunForked" in (await shell.run("show", "last")).out
    for wrong, code in (("--edit=2=x", 3), ("--edit=x", 2), ("--edit=1=@nowhere", 2)):
        assert (await shell.run("fork", run, wrong)).code == code
    assert len((await shell.run("runs", "--json")).json()) == 2


@pytest.mark.req("cli-diff-explain")
async def test_explain_and_diff_tell_in_a_few_lines(shell: Shell, world: World) -> None:
    done, waiting = await finished(world), await stalled(world)
    text = (await shell.run("explain", waiting)).out
    assert len(text.splitlines()) <= 10
    assert "why      The model could not be reached: unavailable: connection refused" in text
    assert f"next     artificer resume {waiting}" in text
    assert "calls    none\n" in text
    told = (await shell.run("explain", done, "--json")).json()
    assert told["answers"] == {"ok": 1, "invalid": 1, "denied": 1}
    assert {r["verdict"] for r in told["refused"]} == {"invalid", "denied"}
    assert (
        "create_list: denied by rule 1 (turn 1): no lists" in (await shell.run("explain", done)).out
    )
    same, other = await shell.run("diff", done, done), await shell.run("diff", done, waiting)
    assert (same.code, other.code) == (0, 1)
    assert "the same prompt" in same.out
    assert "first difference: record 1 and record 1: PromptReceived: prompt" in other.out
    assert "    -A chart, please\n    +Anybody there?\n" in other.out
    found = (await shell.run("diff", done, waiting, "--json")).json()
    assert (found["same"], found["runs"]) == (False, [done, waiting])


@pytest.mark.req("cli-export")
async def test_a_run_is_exported_imported_and_tested(shell: Shell, world: World) -> None:
    run = await finished(world)
    exported = await shell.run("export", run)
    file = shell.cwd / exported.out.strip()
    assert file.name == f"{run}.run.gz"
    piped = await shell.start("export", run, "-o", "-")
    assert (await piped.communicate())[0] == file.read_bytes()
    elsewhere = ("--project", "elsewhere")
    imported = await shell.run(*elsewhere, "import", file.name)
    assert (imported.code, imported.out.strip()) == (0, run)
    assert (await shell.run(*elsewhere, "replay", run)).code == 0
    assert (await shell.run(*elsewhere, "verify")).code == 0

    passed = await shell.run("test", ".", "--junit", "report.xml")
    assert (passed.code, passed.out) == (0, f"passed  {file.name}\n")
    assert passed.err == "1 of 1 recorded run passed\n"
    (shell.cwd / "bad.run.gz").write_bytes(file.read_bytes()[:-9])
    failed = await shell.run("test", ".", "--junit", "report.xml", "--json")
    assert failed.code == 1
    assert {o["file"]: o["passed"] for o in failed.json()} == {
        file.name: True,
        "bad.run.gz": False,
    }
    suite = ElementTree.fromstring(text_of(shell.cwd / "report.xml"))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    refused = await shell.run("--project", "nowhere", "import", "bad.run.gz")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("error: bad.run.gz: ")
    assert not (shell.home / "nowhere").exists()
    assert (await shell.run("test", str(shell.home))).code == 2


@pytest.mark.req("cli-keeping")
async def test_a_project_is_kept_in_order(shell: Shell, world: World) -> None:
    done, waiting = await finished(world), await stalled(world)
    said = await shell.run("fsck")
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith("0 problems, 0 orphans, 0 leftovers in 2 runs")
    loose = world._resources.storage.blobs.put(b"nobody's")
    assert (await shell.run("gc", "--older-than", "0", "--dry-run", "--json")).json()["files"] == 1
    assert "removed 1 blob, 8 bytes" in (await shell.run("gc", "--older-than", "0")).err
    assert not world._resources.storage.blobs.has(loose)

    assert (await shell.run("prune")).code == 2
    assert "would prune 1 run; --forever deletes them" in (await shell.run("prune", done)).err
    assert (await shell.run("replay", done)).code == 0
    assert (await shell.run("prune", waiting, "--forever")).code == 3
    pruned = await shell.run("prune", done, "--forever", "--reason", "old")
    assert (pruned.code, "pruned 1 run" in pruned.err) == (0, True)
    assert [run["status"] for run in (await shell.run("runs", "--json")).json()] == [
        "pruned",
        "stalled",
    ]
    assert "deleted by `artificer prune`" in (await shell.run("show", done)).err
    assert (await shell.run("verify")).code == 0
    assert "removed" in (await shell.run("gc", "--older-than", "0")).err
    assert (await shell.run("fsck", "--json")).json()["sound"] is True


@pytest.mark.req("prune-finished")
async def test_what_can_go_on_is_not_offered_for_pruning(shell: Shell, world: World) -> None:
    done, halted = await finished(world), await stalled(world)
    clerk = Agent(ScriptedProvider([say("Filed.")]), kind="chat").as_tool("clerk", "File it.")
    script = [reply(call("clerk", prompt="File.")), reply(call("create_list", list=LIST))]
    asks = Policy(rules=(Rule(tool="create_list", decision="ask"),))
    agent = Agent(ScriptedProvider(script), kind="deliver", tools=[clerk], policy=asks)
    waiting = await world.run("File it, and list it.", agent)
    (child,) = [s for s in await world.archive.summaries() if s.run.startswith(f"{waiting.id}.")]
    assert (waiting.status, child.status) == ("waiting", "completed")

    listed = await shell.run("prune", "--older-than", "0")
    assert [line.split()[0] for line in listed.out.splitlines()] == [done]
    for run in (waiting.id, halted):
        refused = await shell.run("prune", done, run)
        assert (refused.code, refused.out) == (3, "")
        assert f"artificer cancel {run}" in refused.err
        refused = await shell.run("prune", done, run, "--forever")
        assert (refused.code, refused.out) == (3, ""), "nothing goes if one of them cannot"
    refused = await shell.run("prune", done, child.run, "--forever")
    assert (refused.code, refused.out) == (3, ""), "its caller may still read its result"
    assert f"artificer cancel {waiting.id}" in refused.err
    pruned = await shell.run("prune", "--older-than", "0", "--forever")
    assert (pruned.code, "pruned 1 run" in pruned.err) == (0, True)
    assert (await world.get(waiting.id)).status == "waiting"

    await shell.run("cancel", waiting.id)
    assert "would prune 2 runs" in (await shell.run("prune", waiting.id)).err


@pytest.mark.req("explain-who-refused")
async def test_explain_names_who_refused_a_call(shell: Shell, world: World) -> None:
    asks = Policy(rules=(Rule(tool="create_list", decision="ask", reason="lists are long"),))
    outside = [call("host.read", path=path) for path in ("../a", "../a", "/etc/passwd")]
    script = [reply(call("create_list", list=LIST), *outside), say("Well.")]
    agent = Agent(
        ScriptedProvider(script),
        kind="deliver",
        policy=asks,
        capabilities=Capabilities(host=Host(folder=str(shell.cwd))),
    )
    waiting = await world.run("List it.", agent)
    await agent.deny(waiting, reason="Too long.", by="Ada", world=world)
    lines = (await shell.run("explain", waiting.id)).out.splitlines()
    refused = [line[9:] for line in lines if " denied (turn 1): " in line]
    assert refused == [
        "create_list: denied (turn 1): create_list: Not run: it was not approved. Too long.",
        "host.read: denied (turn 1): host.read: '../a' must not hold '..'.",
        "host.read: denied (turn 1): host.read: '/etc/passwd' is not in the folder: paths are "
        "relative to it.",
    ]
    told = (await shell.run("explain", waiting.id, "--json")).json()
    assert {refusal["rule"] for refusal in told["refused"]} == {""}


@pytest.mark.req("prune-age")
async def test_what_went_on_lately_is_not_old(shell: Shell) -> None:
    class Past:
        def now(self) -> int:
            return SystemClock().now() - 100 * 86_400_000

        def new_run_id(self) -> str:
            return SystemClock().new_run_id()

    config = load_config(home=shell.home, project="test")
    agent = Agent(ScriptedProvider([say("Yes.")] * 5), kind="chat")
    async with World.open(config, clock=Past()) as world:
        old, continued, origin = [(await agent.run("Go.", world=world)).id for _ in range(3)]
    async with World.open(config) as world:
        await agent.follow_up(continued, "And now?", world=world)
        fork = await agent.fork(origin, ForkChanges(steer="Again."), world=world)
        assert fork.status == "completed"

    listed = await shell.run("prune", "--older-than", "90")
    assert [line.split()[0] for line in listed.out.splitlines()] == [old, origin]
    shown = (await shell.run("runs", "--json")).json()
    days = {run["run"]: (run["changed"] - run["at"]) // 86_400_000 for run in shown}
    assert days == {old: 0, origin: 0, continued: 100, fork.id: 100}


@pytest.mark.req("cli-pipe")
async def test_a_reader_that_goes_away_is_no_error(shell: Shell, world: World) -> None:
    run = await finished(world)
    process = await shell.start("show", run, "--raw")
    assert process.stdout is not None
    process.stdout._transport.close()  # type: ignore[attr-defined]
    assert process.stderr is not None
    assert await process.stderr.read() == b""
    assert await process.wait() == 141
