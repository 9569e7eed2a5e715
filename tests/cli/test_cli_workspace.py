"""``artificer workspace``: what a person does with workspaces."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import Shell
from strict_server import Calls, Says, StrictServer

from artificer.cli.terminal.exits import Exit

pytestmark = pytest.mark.req("workspace-cli")


@pytest.fixture
def notes(shell: Shell) -> Path:
    folder = shell.cwd / "notes"
    folder.mkdir()
    (folder / "plan.md").write_text("one\n")
    return folder


async def test_a_folder_becomes_versions_and_a_folder_again(shell: Shell, notes: Path) -> None:
    done = await shell.run("workspace", "commit", "notes", "notes", "--message", "first")
    assert (done.code, done.out) == (Exit.OK, "version 1 of notes\n")
    assert (
        await shell.run("workspace", "commit", "notes", "notes")
    ).err == "Nothing has changed.\n"
    (notes / "plan.md").write_text("two\n")
    (notes / "link").symlink_to("/etc/passwd")
    done = await shell.run("workspace", "commit", "notes", "notes", "--json")
    assert (done.json()["version"], done.json()["skipped"]) == (2, ["link"])
    listed = (await shell.run("workspace", "list", "--json")).json()
    assert [(v["workspace"], v["number"]) for v in listed] == [("notes", 2)]
    log = (await shell.run("workspace", "log", "notes", "--json")).json()
    assert [(v["number"], v["message"]) for v in log] == [(2, ""), (1, "first")]
    shown = await shell.run("workspace", "show", "notes")
    assert "plan.md" in shown.out and "link" not in shown.out
    old = await shell.run("workspace", "show", "notes", "plan.md", "--version", "1")
    assert old.out == "one\n"
    diff = await shell.run("workspace", "diff", "notes")
    assert diff.out.splitlines()[0] == "changed plan.md"
    assert {"-one", "+two"} <= set(diff.out.splitlines())
    await shell.run("workspace", "checkout", "notes", "copy", "--version", "1")
    assert (shell.cwd / "copy" / "plan.md").read_text() == "one\n"
    (shell.cwd / "copy" / "plan.md").write_text("three\n")
    late = await shell.run("workspace", "commit", "notes", "copy")
    assert late.code == Exit.WRONG
    assert "the newest version of notes is 2, and not 1" in late.err


async def test_what_is_not_there_is_told_with_a_hint(shell: Shell) -> None:
    for words in (("show", "x"), ("log", "x"), ("checkout", "x", "f"), ("diff", "x")):
        done = await shell.run("workspace", *words)
        assert done.code == Exit.OPERATOR
        assert "Workspace 'x' does not exist" in done.err and "hint: " in done.err
    assert (await shell.run("workspace", "list")).err == "No workspaces yet.\n"


async def test_a_run_is_given_a_workspace_by_name(shell: Shell) -> None:
    done = await shell.run("run", "Go.", "--model", "local/x", "--workspace", "a/b")
    assert (done.code, "workspace's name 'a/b'" in done.err) == (Exit.USAGE, True)


async def test_what_the_command_line_gives_a_run_it_can_use(shell: Shell, notes: Path) -> None:
    await shell.run("workspace", "commit", "plans", "notes")
    calls = Calls(
        ("host_write", '{"path": "new.md", "text": "new", "expect": "absent"}'),
        ("workspace_read", '{"workspace": "plans", "path": "plan.md"}'),
        ("introspect_journal_head", "{}"),
    )
    async with StrictServer(calls, Says("Done.")) as server:
        shell.configure(server.url)
        given = ("--folder", "notes", "--workspace", "plans", "--introspect")
        done = await shell.run("run", "--kind", "chat", "Go.", *given)
        assert server.refused == []
        answers = [m["content"] for m in server.seen[1].body["messages"] if m["role"] == "tool"]
    assert (done.code, done.out) == (Exit.OK, "Done.\n")
    assert (notes / "new.md").read_text() == "new"
    assert '"text":"one\\n"' in answers[1] and '"height":' in answers[2]
    assert (await shell.run("replay", "last")).code == Exit.OK
