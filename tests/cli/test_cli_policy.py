"""``artificer policy``, and the guide about it, whose examples are run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cli_kit import Shell
from strict_server import Says, StrictServer

from artificer.cli.terminal.exits import Exit

pytestmark = pytest.mark.req("policy-explain")

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "policy.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^```(\S+)(?: title="(\S+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)


@pytest.fixture
def project(shell: Shell) -> Shell:
    """The project that the guide is about."""
    for kind, name, text in BLOCK.findall(GUIDE):
        if kind == "toml" and name:
            path = shell.cwd / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return shell


async def test_the_guide_is_true(project: Shell) -> None:
    shown = "".join(text for kind, _, text in BLOCK.findall(GUIDE) if kind == "console")
    examples = [part.partition("\n") for part in shown.split("$ artificer ")[1:]]
    assert len(examples) >= 6
    for words, _, expected in examples:
        result = await project.run(*shlex.split(words))
        assert (result.code, result.out) == (Exit.OK, expected), words


async def test_a_sensitive_tool_after_untrusted_data(project: Shell) -> None:
    manifest = project.cwd / "tools" / "note.clad.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("[args.path]", "sensitive = true\n[args.path]"), "utf-8")
    words = ("policy", "explain", "note", "--args", '{"path": "notes/a.md"}', "--json")
    assert (await project.run(*words)).json()["verdict"] == "allow"
    after = (await project.run(*words, "--after", "fetch")).json()
    assert (after["verdict"], after["rule"]) == ("ask", "information_flow")
    assert "'fetch'" in after["reason"]


async def test_what_does_not_reach_the_rules_is_told_too(project: Shell) -> None:
    unknown = await project.run("policy", "explain", "nothing")
    assert unknown.out.startswith("unknown_tool: There is no such tool.")
    invalid = await project.run("policy", "explain", "note", "--args", '{"path": 1}', "--json")
    assert invalid.json()["problems"][0]["pointer"] == "/path"
    assert invalid.json()["steps"] == []


async def test_check_tells_rules_that_decide_nothing(project: Shell) -> None:
    path = project.cwd / "artificer.toml"
    more = '\n[[policy.rules]]\ndecision="deny"\n[[policy.rules]]\ndecision="ask"\ntool="git_*"\n'
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    result = await project.run("policy", "check", "--json")
    assert (result.code, result.json()["unheard"]) == (Exit.WRONG, [5])
    assert "rule 5 is never evaluated" in result.err
    assert "rule 5: tool 'git_*': there is no such tool" in result.err
    assert result.json()["faults"] == ["rule 5: tool 'git_*': there is no such tool"]


@pytest.mark.req("policy-never")
async def test_a_mistyped_deny_is_found_by_check_and_stops_a_run(project: Shell) -> None:
    path = project.cwd / "artificer.toml"
    text = path.read_text(encoding="utf-8").replace('name = "no-system-files"', 'tool = "note"', 1)
    text = text.replace('at = "/path", glob = "/etc', 'at = "/pth", glob = "/etc')
    path.write_text(text, encoding="utf-8")
    checked = await project.run("policy", "check")
    assert checked.code == Exit.WRONG
    words = "rule 1: /pth: no argument of note; did you mean '/path'?"
    assert words in checked.err
    begun = await project.run("run", "Note it.", "--model", "scripted/x")
    assert begun.code == Exit.OPERATOR
    assert words in begun.err


async def test_a_faulty_rule_is_an_error_with_its_place(project: Shell) -> None:
    path = project.cwd / "artificer.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("glob =", "globb ="), "utf-8")
    result = await project.run("policy", "check")
    assert result.code == Exit.OPERATOR
    assert "artificer.toml: policy.rules #1.arguments #1.globb" in result.err
    assert "'glob'" in result.err


async def test_cedar_is_asked_too(project: Shell) -> None:
    path = project.cwd / "artificer.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("[policy]\n", '[policy]\ncedar = ["p.cedar"]\n'), "utf-8")
    cedar = project.cwd / "p.cedar"
    cedar.write_text('@id("short") permit(principal, action, resource == Tool::"note");', "utf-8")
    words = ("policy", "explain", "note", "--args", '{"path": "notes/a.md"}', "--json")
    assert (await project.run(*words)).json()["rule"] == "rule 2, cedar short"
    assert "cedar   p.cedar  sha256:" in (await project.run("policy", "check")).out
    cedar.write_text("\npermit(principal, action);", "utf-8")
    bad = await project.run("policy", "check")
    assert (bad.code, "p.cedar:2: " in bad.err) == (Exit.OPERATOR, True)


async def test_a_run_can_be_narrowed(shell: Shell) -> None:
    from test_cli_run import MAKES_CHART

    async with StrictServer(MAKES_CHART, Says("Without a chart.")) as server:
        shell.configure(server.url)
        result = await shell.run("run", "Compare", "--allow", "create_table")
        assert server.refused == []
    assert "create_bar_chart  denied  This run's allow-list does not name the tool." in result.err
