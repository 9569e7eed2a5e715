"""Input from a project's files, from git and from the command line."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from fuzz_kit import bounded, corpus, declared, fuzz, trees
from hypothesis import given
from hypothesis import strategies as st

from artificer.artifacts.command_line import split_command
from artificer.backends.host.searching import matches
from artificer.cli.main import COMMANDS, perform
from artificer.cli.terminal.exits import Exit
from artificer.cli.tools.new import draft, read_help
from artificer.config import Config, load_config
from artificer.contracts.definition import ToolDefinition
from artificer.core.policy import Decision, Occasion, Policy, PolicyText, Rule, decide
from artificer.policies.engine import consult_here
from artificer.runtime.builds.detect import detect
from artificer.runtime.builds.git import Git
from artificer.runtime.builds.merging import merge, message_of
from artificer.runtime.builds.scope import present, sort_changes
from artificer.values.strict_json import parse_object

ROOT = Path(__file__).parents[2]
SETTINGS = (
    *(p.read_text("utf-8") for p in sorted((ROOT / "examples").rglob("artificer.toml"))),
    """model = "a/b"
tools = ["tools"]
[policy]
default = "ask"
allow = ["git_*"]
cedar = ["*.cedar"]
[[policy.rules]]
decision = "deny"
tool = "do*"
effect = ["once"]
arguments = { "/path" = "a/**" }
reason = "no"
[providers.p]
base_url = "http://127.0.0.1:1"
[prices."a/b"]
input = 1.5
output = 2
[mcp.servers.s]
command = ["x"]
env = { A = "{_secret:a}" }
[sandbox]
mode = "auto"
writable = ["a"]
""",
)
CEDAR = (
    'permit(principal, action, resource) when { context.arguments.path like "a/*" };\n'
    '@id("x") @ask("why") permit(principal, action == Action::"call", resource is Tool);\n'
    'forbid(principal, action, resource) unless { resource.risk == "low" }; // end\n',
)
DO = ToolDefinition(name="do", description="d", input_schema={"type": "object"})


def as_read(arguments: Any) -> Any:
    """The arguments as the gate has read them, None for those that it refuses."""
    read = parse_object(json.dumps(arguments))
    return None if isinstance(read, tuple) else read


@pytest.mark.req("fuzz-files")
@given(corpus(*SETTINGS), corpus(*CEDAR), trees({"path": "a/b", "n": 1, "list": [{"a": None}]}))
@fuzz(60)
def test_settings_are_read_or_refused_and_policies_decide(
    text: str, cedar: str, arguments: Any
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "artificer.toml").write_text(text, "utf-8", "replace")
        (folder / "x.cedar").write_text(cedar, "utf-8", "replace")
        config = declared(load_config, folder)
    if isinstance(config, Config):
        with bounded():
            assert config.digest.startswith("sha256:")
            consult = consult_here(config.policy)
            found = decide(config.policy, DO, as_read(arguments), None, consult)
        assert isinstance(found, Decision)


RULE = {
    "decision": "deny",
    "tool": "d*",
    "risk": ["low"],
    "effect": ["once"],
    "backend": ["function"],
    "arguments": {"/path": "a/*"},
    "reason": "x",
}


@pytest.mark.req("fuzz-files")
@given(trees(RULE), trees({"path": "a/b", "n": [1, {"path": "x"}]}))
@fuzz(100)
def test_a_rule_is_refused_or_decides(rule: Any, arguments: Any) -> None:
    read = declared(lambda: Rule.read(json.dumps(rule)), also=(ValueError,))
    given_arguments = as_read(arguments)
    if read is not None and given_arguments is not None:
        with bounded():
            found = decide(Policy(rules=(read,)), DO, given_arguments, Occasion(), None)
        assert found.decision in ("allow", "deny", "ask")


@pytest.mark.req("fuzz-models")
@given(corpus("**/*.toml", "a/[b-z]*/?.py", "[!a]*", "a/b"), corpus("a/b/c.toml", "x.py"))
@fuzz(150)
def test_a_glob_matches_or_does_not(glob: str, path: str) -> None:
    with bounded():
        matches(tuple(path.split("/")), tuple(p for p in glob.split("/") if p not in ("", ".")))


@pytest.mark.req("fuzz-files")
@given(corpus(*CEDAR), trees({"path": "a/b", "n": 1, "list": [{"a": None}]}), corpus("do", "a.b"))
@fuzz(80)
def test_cedar_policies_are_faulty_or_decide(text: str, arguments: Any, name: str) -> None:
    from artificer.policies.cedar import faults

    text = text.encode("utf-8", "replace").decode()
    with bounded():
        found = [*faults(text)]
        given_arguments = as_read(arguments)
        if found or given_arguments is None:
            return
        policy = Policy(cedar=(PolicyText(name="x.cedar", text=text),))
        tool = DO.replace(name=re.sub(r"[^A-Za-z0-9_.-]", "_", name[:64]) or "_")
        decision = decide(policy, tool, given_arguments, Occasion(), consult_here(policy))
    assert decision.decision in ("allow", "deny", "ask")


PROJECT = {
    "Makefile": "test: build\n\tpytest\nbuild:\n\techo\n.PHONY: test\n",
    "pyproject.toml": "[project]\nname = 'x'\n[tool.ruff]\n[tool.pytest.ini_options]\n",
    "package.json": '{"scripts": {"test": "jest", "build": "tsc"}}',
}


@pytest.mark.req("fuzz-files")
@given(st.fixed_dictionaries({n: corpus(t, *PROJECT.values()) for n, t in PROJECT.items()}))
@fuzz(40)
def test_a_project_is_looked_at(files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        for file, text in files.items():
            (Path(name) / file).write_bytes(text.encode("utf-8", "replace"))
        with bounded():
            project = detect(Path(name))
            project.tools(Path(name))
            project.environment({}, Path(name))


@pytest.mark.req("fuzz-models")
@given(corpus("pytest -q 'a b' --x=\"y\"", "make test", "sh -c 'x'"))
@fuzz(80)
def test_a_command_line_is_split_or_refused(line: str) -> None:
    with bounded():
        split_command(line)
        message_of(line)


@pytest.mark.req("fuzz-files")
@given(
    st.lists(corpus("a.txt", "dir/b c.txt", "ü\n.md", '"q"', ":(glob)x"), max_size=4),
    corpus("one\n"),
)
@fuzz(2)
def test_what_git_says_of_odd_names_is_read(names: list[str], text: str) -> None:
    """Files with such names really are in the two trees that are merged."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        env = {"PATH": os.environ["PATH"], "HOME": name, "GIT_CONFIG_NOSYSTEM": "1"}
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]

        def git(*args: str) -> str:
            done = subprocess.run(["git", *who, *args], cwd=root, env=env, capture_output=True)
            return done.stdout.decode("utf-8", "replace").strip()

        def commit(content: str) -> str:
            for odd in names:
                place = root / odd.strip("/")
                with contextlib.suppress(OSError, ValueError):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    if root.resolve() in place.resolve().parents and ".git" not in place.parts:
                        place.write_bytes((content + text).encode("utf-8", "replace"))
            git("add", "-A")
            git("commit", "--allow-empty", "-qm", "x")
            return git("rev-parse", "HEAD")

        git("init", "-q")
        base = commit("base")
        ours = commit("ours")
        git("checkout", "-q", base)
        theirs = commit("theirs")
        with bounded():
            declared(lambda: asyncio.run(merge(Git(root), ours, theirs, "m")))
            sort_changes(root, names, ["a.txt", "dir/"])
            present(root, names)


HELP = """Usage: x [OPTIONS] FILE
  -n, --count NUM   How many.  [default: 3]
  --name=NAME       Name.
      --verbose     More.
  -C <dir>          Where.
"""


@pytest.mark.req("fuzz-files")
@given(corpus(HELP, "NAME\n  ls -- list\nOPTIONS\n  -a, --all\n     do not ignore\n"))
@fuzz(80)
def test_a_help_text_is_read(text: str) -> None:
    with bounded():
        draft("x", (), read_help(text))


LINES = (
    "run --model scripted/x --kind chat Hello --max-turns 3",
    "show last --raw",
    "fork last --at 3 --edit 7={}",
    "policy explain do --args {} --tools tools",
    "tools run tools t --args {}",
    "export last -o out.gz",
    "import out.gz",
    "test out.gz --json",
    "workspace show w a/b --version 3",
    "diff a b",
    "resolve last --happened",
    "gc --older-than 5 --dry-run",
    "prune --older-than 3",
    "steer last x",
    "--home h --project p runs --json",
)


@pytest.mark.req("fuzz-files")
@given(
    st.lists(st.one_of(corpus(*LINES).map(str.split), st.just([])), max_size=2),
    st.sampled_from([*COMMANDS]),
)
@fuzz(25)
def test_a_command_line_ends_with_a_code_and_no_traceback(
    lines: list[list[str]], command: str
) -> None:
    words = [w[:2_000].replace("\0", "") for line in lines for w in line] or [command, "--json"]
    if {"mcp", "open", "local", "doctor", "new"} & {*words}:
        return
    out = io.StringIO()
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name, bounded():
        os.chdir(name)
        try:
            with contextlib.redirect_stderr(out), contextlib.redirect_stdout(out):
                code = perform(["--home", name, *words])
        finally:
            os.chdir(before)
    assert code != Exit.BUG, out.getvalue()
    assert "Traceback" not in out.getvalue()
