"""``run`` and ``resume`` as real processes over a real socket, against the strict double."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Shell, text_of
from strict_server import Calls, Says, StrictServer

from artificer.world import World
from pictures import png

CHART = {
    "id": "people",
    "title": "People",
    "labels": ["Paris", "Rome"],
    "series": [{"name": "people", "values": [21, 28]}],
}
MAKES_CHART = Calls(("create_bar_chart", json.dumps(CHART)))
CITES_CHART = Says("# Two cities\n\n{{artifact:chart:people}}\n\nRome is larger.")


@pytest.mark.req("cli-run-deliver")
async def test_a_report_is_written_and_its_paths_are_printed(shell: Shell) -> None:
    async with StrictServer(MAKES_CHART, CITES_CHART) as server:
        shell.configure(server.url)
        result = await shell.run("run", "Compare two cities")
        assert server.refused == []
    assert result.code == 0, result.err
    html, markdown = map(Path, result.out.splitlines())
    assert (html.name, markdown.name) == ("report.html", "report.md")
    assert html.parent.parent == shell.world / "runs"
    assert "Rome is larger." in html.read_text("utf-8")
    assert "Rome is larger." in markdown.read_text("utf-8")
    assert (html.parent / "artifacts" / "chart" / "people.json").exists()
    told = result.err.splitlines()
    assert told[0].endswith("· deliver · double/m")
    assert any("create_bar_chart" in line and " ok " in line for line in told)
    assert told[-1].startswith("completed · 2 turns · 20 tokens in, 10 out")


@pytest.mark.req("cli-run-chat")
async def test_a_chat_prints_its_text_and_nothing_else(shell: Shell) -> None:
    async with StrictServer(Says("Good morning.")) as server:
        shell.configure(server.url)
        result = await shell.run("run", "--kind", "chat", "-", stdin="Grüße".encode())
        assert server.seen[0].body["messages"][-1]["content"] == "Grüße"
    assert (result.code, result.out) == (0, "Good morning.\n")
    assert not (shell.world / "runs").exists()


@pytest.mark.req("cli-run-json")
async def test_json_is_one_object_on_stdout(shell: Shell) -> None:
    async with StrictServer(MAKES_CHART, CITES_CHART) as server:
        shell.configure(server.url, '[prices."double/m"]\ninput = 3.0\noutput = 15.0\n')
        result = await shell.run("run", "Compare", "--json", "--out", "here")
    outcome = result.json()
    assert (outcome["status"], outcome["reason"], outcome["turns"]) == ("completed", "done", 2)
    assert outcome["usage"]["input_tokens"] == 20
    assert outcome["cost_micros"] == 210
    assert outcome["findings"] == []
    assert outcome["failure"] is None
    assert outcome["text"].startswith("# Two cities")
    assert outcome["files"]["html"] == str(shell.cwd / "here" / "report.html")
    assert (shell.cwd / "here" / "report.md").exists()
    assert (shell.world / "runs" / outcome["run"] / "report.html").exists()


@pytest.mark.req("cli-run-cost")
async def test_a_cost_limit_is_kept_before_anything_is_spent(shell: Shell) -> None:
    async with StrictServer(Says("never asked")) as server:
        shell.configure(server.url)
        unknown = await shell.run("run", "Compare", "--max-cost", "0.01")
        shell.configure(server.url, '[prices."double/m"]\ninput = 3.0\noutput = 15.0\n')
        stopped = await shell.run("run", "Compare", "--max-cost", "0.0001", "--json")
        assert server.seen == [], "nothing was asked for"
    assert unknown.code == 3
    assert "price of 'double/m' is not known" in unknown.err
    assert (stopped.code, stopped.json()["reason"]) == (5, "cost_limit")


@pytest.mark.req("cli-run-incomplete")
async def test_a_partial_report_says_what_is_missing(shell: Shell) -> None:
    answers = [Says("# Two cities\n\n{{artifact:chart:people}}\n\nRome is larger.")] * 5
    async with StrictServer(*answers) as server:
        shell.configure(server.url)
        result = await shell.run("run", "Compare two cities")
    assert result.code == 5
    assert "Rome is larger." in text_of(result.out.splitlines()[0])
    assert "sent back for repair: 1 finding" in result.err
    assert "partial · 5 turns" in result.err
    assert "missing: chart:people" in result.err


@pytest.mark.req("cli-run-choice")
async def test_system_and_tool_choice_reach_the_model_turn_by_turn(shell: Shell) -> None:
    choices = ("--choice", "create_bar_chart", "--choice", "none")
    async with StrictServer(MAKES_CHART, CITES_CHART) as server:
        shell.configure(server.url)
        result = await shell.run("run", "Compare", "--system", "Be brief.", *choices)
        first, second = (seen.body for seen in server.seen)
        unknown = await shell.run("run", "Compare", "--choice", "create_song")
    assert result.code == 0, result.err
    assert first["messages"][0] == {"role": "system", "content": "Be brief."}
    assert first["tool_choice"]["function"]["name"] == "create_bar_chart"
    assert second["tool_choice"] == "none"
    assert unknown.code == 3
    assert "create_song" in unknown.err


@pytest.mark.req("cli-run-policy")
async def test_calls_that_do_not_run_are_told_with_their_reason(shell: Shell) -> None:
    policy = '[policy]\n[[policy.rules]]\ndecision = "deny"\ntool = "create_*"\nreason = "no art"\n'
    wrong = Calls(("create_list", '{"id": 7}'), ("create_bar_chart", json.dumps(CHART)))
    async with StrictServer(wrong, Says("Nothing to show.")) as server:
        shell.configure(server.url, policy)
        result = await shell.run("run", "Compare")
        assert server.refused == []
    assert result.code == 0, result.err
    assert "create_list  invalid  " in result.err
    assert "create_bar_chart  denied  no art" in result.err


@pytest.mark.req("cli-approval-nobody")
async def test_unattended_the_answer_is_no(shell: Shell) -> None:
    async with StrictServer(MAKES_CHART, Says("Without a chart.")) as server:
        shell.configure(server.url, '[policy]\ndefault = "ask"\n')
        result = await shell.run("run", "Compare", "--unattended", stdin=b"y\n")
        assert server.refused == []
    assert "create_bar_chart  not approved. There is nobody here to ask." in result.err


@pytest.mark.req("cli-signals")
async def test_where_nobody_can_be_asked_the_run_waits_for_an_answer(shell: Shell) -> None:
    async with StrictServer(MAKES_CHART, CITES_CHART, Says("And more.")) as server:
        shell.configure(server.url, '[policy]\ndefault = "ask"\n')
        waiting = await shell.run("run", "Compare", "--json", stdin=b"y\n")
        (question,) = json.loads(waiting.out)["questions"]
        assert (waiting.code, json.loads(waiting.out)["status"]) == (7, "waiting")
        assert f"artificer approve {json.loads(waiting.out)['run']}" in waiting.err
        listed = await shell.run("approve", "last", "--list", "--json")
        assert [q["digest"] for q in json.loads(listed.out)] == [question["digest"]]
        assert "waiting" in (await shell.run("runs")).out
        unknown = await shell.run("approve", "last", "sha256:0")
        assert unknown.code == 3 and "--list" in unknown.err
        given = await shell.run("approve", "last", question["digest"][:15])
        assert given.code == 0 and "sent to run" in given.err and "artificer resume" in given.err
        again = await shell.run("approve", "last")
        assert again.code == 0 and "has this answer already, from " in again.err
        assert "sent" not in again.err and "artificer resume" in again.err
        other = await shell.run("approve", "last", "--deny")
        assert other.code == 1 and "already: approved, from " in other.err, other.err
        done = await shell.run("resume", "last")
        assert (done.code, server.refused) == (0, [])
        for call in ([], [question["digest"]], [question["digest"][7:15], "--deny"]):
            late = await shell.run("approve", "last", *call)
            assert late.code == 1 and "waits no more" in late.err, late.err
            assert "artificer explain " in late.err
        unknown = await shell.run("approve", "last", "sha256:0")
        assert unknown.code == 3 and "hint: artificer explain " in unknown.err
        assert "no call waits for approval" in (await shell.run("approve", "last", "--list")).err
        certain = await shell.run("resolve", "last", "--happened")
        assert certain.code == 3 and "hint: artificer explain " in certain.err
        more = await shell.run("follow-up", "last", "And now?", "--json")
        assert json.loads(more.out)["message"] == "And more."
        for word in ("steer", "pause", "interrupt"):
            said = await shell.run(word, "last", *(["x"] if word == "steer" else []))
            assert said.code == 3 and "has ended" in said.err
        assert "no call is uncertain" in (await shell.run("resolve", "last")).err
        assert (await shell.run("replay", "last")).code == 0


@pytest.mark.req("cli-answers-race")
@pytest.mark.parametrize("first", [True, False], ids=["approved", "denied"])
async def test_of_two_answers_at_the_same_instant_the_second_is_told_of_the_first(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    send = World.send

    async def send_second(world: World, run: str, signal: Any, **_: Any) -> int:
        await send(world, run, signal.replace(by="bob", approved=first))
        return await send(world, run, signal)

    async with StrictServer(MAKES_CHART, CITES_CHART if first else Says("Good bye.")) as server:
        shell.configure(server.url, '[policy]\ndefault = "ask"\n')
        await shell.run("run", "--kind", "deliver", "Compare", stdin=b"")
        with monkeypatch.context() as patched:
            patched.setattr(World, "send", send_second)
            told = await shell.run("approve", "last")
        done = await shell.run("resume", "last")
        assert (done.code, server.refused) == (0, []), done.err
    assert "sent to run" not in told.err
    if first:
        assert told.code == 0 and "has this answer already, from bob" in told.err, told.err
    else:
        assert told.code == 1 and "already: denied, from bob." in told.err, told.err
        assert "Yours has no effect." in told.err and "artificer cancel" in told.err
        assert "create_bar_chart  not approved" in done.err


@pytest.mark.req("provider-missing-key")
async def test_a_missing_key_is_named_before_a_run_is_created(shell: Shell) -> None:
    shell.configure("http://127.0.0.1:9/v1")
    for model, variable in ("openai/gpt-x", "OPENAI_API_KEY"), ("groq/a/b", "GROQ_API_KEY"):
        wrong = await shell.run("run", "Compare", "--model", model)
        assert (wrong.code, wrong.out) == (3, "")
        assert f"Set the environment variable {variable}." in wrong.err
    assert (await shell.run("runs", "--json")).json() == []


@pytest.mark.req("cli-stalled")
async def test_a_stalled_run_is_resumed_when_its_model_answers_again(shell: Shell) -> None:
    shell.configure("http://127.0.0.1:9/v1")
    stalled = await shell.run("run", "Compare")
    assert stalled.code == 6
    run_id = stalled.err.split("artificer resume ")[1].strip()

    async with StrictServer(Says("Here it is.")) as server:
        shell.configure(server.url)
        assert [run["status"] for run in (await shell.run("runs", "--json")).json()] == ["stalled"]
        done = await shell.run("resume", run_id[:12], "--json")
    assert done.code == 0, done.err
    assert done.json()["text"] == "Here it is."
    assert done.json()["run"] == run_id


@pytest.mark.req("cli-errors")
async def test_errors_are_one_line_a_hint_and_a_code(shell: Shell) -> None:
    nothing = await shell.run("run", "hello")
    assert nothing.code == 3
    assert nothing.err.startswith("error: No model is configured.\nhint: ")

    unknown = await shell.run("run", "hello", "--model", "acme/x")
    assert unknown.code == 3
    assert "[providers.acme]" in unknown.err

    tools = shell.cwd / "tools"
    tools.mkdir()
    (tools / "broken.clad.toml").write_text("[tool]\nname = 7\n", encoding="utf-8")
    broken = await shell.run("run", "hello", "--model", "scripted/x", "--tools", "tools")
    assert broken.code == 4
    assert "broken.clad.toml" in broken.err
    for result in (nothing, unknown, broken):
        assert result.out == ""
        assert "Traceback" not in result.err

    told = await shell.run("run", "hello", env={"ARTIFICER_DEBUG": "1"})
    assert told.code == 3
    assert "Traceback" in told.err


@pytest.mark.req("cli-errors")
async def test_a_folder_that_cannot_be_written_is_no_bug(shell: Shell) -> None:
    (shell.cwd / "file").write_text("", encoding="utf-8")
    async with StrictServer(Says("Fine.")) as server:
        shell.configure(server.url)
        result = await shell.run("run", "hello", "--out", "file/below")
    assert result.code == 3
    assert "file/below" in result.err
    assert "bug" not in result.err


@pytest.mark.req("cli-logs")
async def test_verbose_logs_facts_but_never_contents(shell: Shell) -> None:
    async with StrictServer(MAKES_CHART, CITES_CHART) as server:
        shell.configure(server.url)
        result = await shell.run("--verbose", "run", "Compare two cities")
    logged = [line for line in result.err.splitlines() if " INFO artificer." in line]
    assert any("provider=double" in line and "outcome=tool_use" in line for line in logged)
    assert any("tool=create_bar_chart" in line and "outcome=ok" in line for line in logged)
    assert not any("Rome" in line for line in logged)


@pytest.mark.req("response-format")
async def test_with_a_schema_stdout_is_the_json_or_nothing(shell: Shell) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    (shell.cwd / "s.json").write_text(json.dumps(schema), encoding="utf-8")
    async with StrictServer(Says("One."), Says('{"n": 1}'), *[Says('{"m": 1}')] * 10) as server:
        shell.configure(server.url)
        done = await shell.run("run", "--schema", "s.json", "Count.")
        failed = await shell.run("run", "--schema", "s.json", "Count.")
        told = (await shell.run("run", "--schema", "s.json", "--json", "Count.")).json()
    assert (done.code, done.out) == (0, '{"n": 1}\n')
    assert (failed.code, failed.out) == (5, "")
    assert "schema: /n: is required" in failed.err and "not the JSON" in failed.err
    assert (told["kind"], told["status"], told["output"]) == ("chat", "failed", None)


@pytest.mark.req("response-format-checked")
async def test_a_schema_that_cannot_be_used_is_refused_before_the_run(shell: Shell) -> None:
    shell.configure("http://127.0.0.1:9")
    (shell.cwd / "bad.json").write_text("{", encoding="utf-8")
    (shell.cwd / "odd.json").write_text('{"type": "thing"}', encoding="utf-8")
    bad = await shell.run("run", "--schema", "bad.json", "Count.")
    odd = await shell.run("run", "--schema", "odd.json", "Count.")
    assert bad.code == 2 and "not valid JSON" in bad.err
    assert odd.code == 2 and "odd.json: This is not a usable JSON Schema" in odd.err
    assert len(odd.err.splitlines()) == 2
    (shell.cwd / "odd.json").write_text("{}", encoding="utf-8")
    report = await shell.run("run", "--kind", "deliver", "--schema", "odd.json", "Count.")
    assert report.code == 4 and "kind='chat'" in report.err
    assert (await shell.run("runs")).out.strip() in ("", "[]")


@pytest.mark.req("report-message")
async def test_a_follow_up_answered_in_a_sentence_leaves_the_report(shell: Shell) -> None:
    answers = (MAKES_CHART, CITES_CHART, Says("Rome has 28."), Says("Yes."))
    async with StrictServer(*answers) as server:
        shell.configure(server.url)
        first = await shell.run("run", "Compare two cities")
        second = await shell.run("follow-up", "last", "How many in Rome?")
        third = await shell.run("follow-up", "last", "Sure?", "--json")
        assert server.refused == []
    assert (first.code, second.code, third.code) == (0, 0, 0), second.err
    assert second.out == first.out and "Rome has 28." in second.err
    outcome = third.json()
    assert outcome["message"] == "Yes." and outcome["text"].startswith("# Two cities")
    page = text_of(outcome["files"]["html"])
    assert "Rome is larger." in page and '<p dir="auto">Yes.</p>' in page


@pytest.mark.req("cli-long-names")
async def test_a_name_that_the_model_made_up_does_not_fill_the_terminal(shell: Shell) -> None:
    async with StrictServer(Calls(("long" * 20_000, "{}")), Says("Done."), Says("Yes.")) as server:
        shell.configure(server.url)
        result = await shell.run("run", "--kind", "chat", "Go.")
    assert result.code == 0 and "longlong" in result.err
    for command in (("show", "last"), ("explain", "last")):
        assert max(map(len, (await shell.run(*command)).out.splitlines())) < 800
    assert max(map(len, result.err.splitlines())) < 800


@pytest.mark.req("cli-out-unwritable")
@pytest.mark.parametrize("kind", ["deliver", "chat"])
async def test_what_cannot_be_written_to_out_is_printed_all_the_same(
    shell: Shell, kind: str
) -> None:
    (shell.cwd / "taken").write_text("a file")
    async with StrictServer(Says("Four.")) as server:
        shell.configure(server.url)
        result = await shell.run("run", "--kind", kind, "2 + 2?", "--out", "taken/report")
        again = await shell.run("resume", "last", "--out", "elsewhere")
    assert result.code == 3
    assert "The run cannot be written to taken/report: Not a directory." in result.err
    assert "artificer resume " in result.err.splitlines()[-1] and "--out" in result.err
    assert ("Four." if kind == "chat" else "report.html") in result.out
    assert again.code == 0 and "Four." in (shell.cwd / "elsewhere/report.md").read_text()
    exported = await shell.run("export", "last", "-o", "taken/last.run.gz")
    assert (exported.code, exported.err.splitlines()[-1][:5]) == (3, "hint:")


@pytest.mark.req("home-not-writable")
async def test_a_report_that_the_project_cannot_hold_is_printed(shell: Shell) -> None:
    async with StrictServer(Says("Four."), Says("Five.")) as server:
        shell.configure(server.url)
        await shell.run("run", "--kind", "chat", "2 + 2?")
        (shell.world / "runs").write_text("a file")
        result = await shell.run("run", "2 + 3?")
        again = await shell.run("resume", "last", "--out", "elsewhere")
    assert (result.code, result.out) == (3, "Five.\n")
    assert f"The run cannot be written to {shell.world / 'runs'}" in result.err
    assert "--out DIRECTORY writes it elsewhere" in result.err.splitlines()[-1]
    assert "elsewhere/report.html" in again.out
    assert "Five." in (shell.cwd / "elsewhere/report.md").read_text()


@pytest.mark.req("attachment-wires")
async def test_files_are_attached_and_a_wrong_one_is_named(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_bytes(png())
    (tmp_path / "none.png").write_bytes(png(claims=(0, 0)))
    chat = ("run", "--kind", "chat", "What is in this picture?", "--attach")
    async with StrictServer(Says("A cat.")) as server:
        shell.configure(server.url)
        result = await shell.run(*chat, str(tmp_path / "cat.png"))
        assert server.refused == []
        image, text = server.seen[0].body["messages"][-1]["content"]
        wrong = await shell.run(*chat, str(tmp_path / "none.png"))
    assert (result.code, result.out) == (0, "A cat.\n")
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert text == {"type": "text", "text": "What is in this picture?"}
    shown = await shell.run("show", "last")
    assert "image cat.png (image/png, " in shown.out
    assert (wrong.code, wrong.out) == (4, "")
    assert "none.png' is not a whole image/png" in wrong.err
