"""``artificer tools``: manifests checked, shown, called by hand, tested and drafted."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from cli_kit import Shell, text_of
from strict_server import Says, StrictServer

from artificer.cli.terminal.exits import Exit
from artificer.cli.tools.new import draft, read_help, read_purpose, read_usage
from artificer.manifests.parse import parse_manifest
from command_lines import argv_of

pytestmark = pytest.mark.req("cli-tools")

EXAMPLES = str(Path(__file__).parents[2] / "examples" / "tools")

ECHO = """
[tool]
name = "echo"
version = "1"
description = "Say it again."
risk_tier = "high"

[args.text]
required = true
description = "What to say."

[args.count]
type = "integer"
min = 1
max = 3
clamp = true
default = 1

[command]
exec = ["echo", "{text}", "{count}"]

[[examples]]
args = {text = "hi"}
contains = "hi 1"

[[examples]]
args = {text = "hi", count = 9}
argv = ["echo", "hi", "3"]

[[examples]]
args = {}
status = "invalid"
"""


def write(shell: Shell, text: str = ECHO) -> None:
    (shell.cwd / "tools").mkdir(exist_ok=True)
    (shell.cwd / "tools" / "echo.clad.toml").write_text(text, encoding="utf-8")


async def test_the_commands_of_a_session_are_listed_shown_and_called(shell: Shell) -> None:
    examples = ("tools", "run", EXAMPLES, "python.run")
    listed = await shell.run("tools", "list", EXAMPLES)
    assert "python.run" in listed.out
    assert '"command"' in (await shell.run("tools", "show", EXAMPLES, "python.run")).out
    said = await shell.run(*examples, "--args", '{"command": "1 + 1"}', "--yes", "--content")
    assert json.loads(said.out)["output"] == "2"


async def test_check_tells_faults_and_warnings(shell: Shell) -> None:
    good = await shell.run("tools", "check", EXAMPLES)
    assert (good.code, good.err) == (Exit.OK, "")
    write(shell, ECHO.replace("version", "verzion"))
    bad = await shell.run("tools", "check", EXAMPLES, "tools")
    assert bad.code == Exit.AUTHOR
    assert "tools/echo.clad.toml:4: tool.verzion: is not a known key; did you mean" in bad.out
    lenient = await shell.run("tools", "check", "tools", "--compat")
    assert (lenient.code, lenient.out) == (Exit.OK, "tools: 1 tool\n")
    assert "warning: tools/echo.clad.toml:4: tool.verzion" in lenient.err


async def test_check_names_characters_that_nobody_sees(shell: Shell) -> None:
    hostile = ECHO.replace("Say it again.", "Say it \\u202Eagain.\\u0007").replace(
        "What to say.", "What\u200b to say: \U0001f469\u200d\U0001f4bb"
    )
    write(shell, hostile.replace('exec = ["echo"', 'exec = ["echo", "\\u0007"'))
    checked = await shell.run("tools", "check", "tools")
    assert (checked.code, checked.out) == (Exit.OK, "tools: 1 tool\n")
    assert checked.err.splitlines() == [
        "warning: tools/echo.clad.toml:5: tool.description: contains U+202E (RIGHT-TO-LEFT "
        "OVERRIDE), U+0007 (a control character): people do not see it, but the model reads it",
        "warning: tools/echo.clad.toml:10: args.text.description: contains U+200B (ZERO WIDTH "
        "SPACE): people do not see it, but the model reads it",
    ]


async def test_a_folder_without_definitions_and_a_missing_program_are_told(shell: Shell) -> None:
    (shell.cwd / "empty").mkdir()
    empty = await shell.run("tools", "check", "empty")
    assert (empty.code, empty.out) == (Exit.OK, "empty: 0 tools\n")
    assert empty.err == "warning: empty: no file in it ends in .clad.toml\n"
    missing = await shell.run("tools", "new", "no-such-program")
    assert "hint: Install it, or give its path." in missing.err


async def test_list_show_and_schema(shell: Shell) -> None:
    write(shell)
    listed = await shell.run("tools", "list", "tools")
    assert listed.out == "echo  high      once        Say it again.\n"
    definitions = (await shell.run("tools", "list", "tools", "--json")).json()
    assert definitions[0]["name"] == "echo"
    shown = (await shell.run("tools", "show", "tools", "echo")).out
    assert "text: string, required. What to say." in shown
    schema = (await shell.run("tools", "schema", "tools", "echo")).json()
    assert schema["required"] == ["text"]
    form = (await shell.run("tools", "schema", "tools", "echo", "--mcp")).json()
    assert form["inputSchema"] == schema
    assert "results" not in form["outputSchema"]["properties"]
    missing = await shell.run("tools", "show", "tools", "ecko")
    assert missing.code == Exit.OPERATOR
    assert "Known: echo." in missing.err


async def test_strict_schemas_are_what_a_request_holds(shell: Shell) -> None:
    write(shell)
    form = (await shell.run("tools", "schema", "tools", "echo", "--strict", "openai")).json()
    assert (form["name"], form["strict"]) == ("echo", True)
    assert form["schema"]["required"] == ["text", "count"]
    assert form["schema"]["properties"]["count"]["type"] == ["integer", "null"]
    forms = (await shell.run("tools", "schema", "tools", "--strict", "anthropic")).json()
    assert [f["schema"]["required"] for f in forms] == [["text"]]
    for wrong in ([], ["echo", "--mcp", "--strict", "openai"]):
        assert (await shell.run("tools", "schema", "tools", *wrong)).code == Exit.USAGE


async def test_compat_reads_a_folder_for_a_run_too(shell: Shell) -> None:
    write(shell, ECHO.replace('version = "1"', 'verzion = "1"'))
    words = ("run", "--kind", "chat", "--tools", "tools", "hello")
    async with StrictServer(Says("hi")) as server:
        shell.configure(server.url)
        assert (await shell.run(*words)).code == Exit.AUTHOR
        assert server.seen == []
        assert (await shell.run(*words, "--compat")).out == "hi\n"
        assert [t["function"]["name"] for t in server.seen[0].body["tools"]] == ["echo"]
    given = ("tools", "run", "tools", "echo", "--args", '{"text": "hi"}')
    assert (await shell.run(*given)).code == Exit.AUTHOR
    assert (await shell.run(*given, "--compat")).json()["stdout"]["text"] == "hi 1\n"


async def test_run_goes_through_the_gate_and_prints_the_envelope(shell: Shell) -> None:
    write(shell)
    given = json.dumps({"text": "a b", "count": 7})
    result = await shell.run("tools", "run", "tools", "echo", "--args", given)
    envelope = result.json()
    assert result.code == Exit.OK
    assert envelope["command"] == ["echo", "a b", "3"]
    assert envelope["notes"] == ["count: 7 was brought to 3"]
    dry = await shell.run("tools", "run", "tools", "echo", "--args", given, "--dry-run")
    assert dry.json()["command"] == ["echo", "a b", "3"]
    read = await shell.run("tools", "run", "tools", "echo", "--args", given, "--content")
    assert read.json()["stdout"] == "a b 3\n"
    for bad in ("{}", "no json", '{"text": "-n"}'):
        refused = await shell.run("tools", "run", "tools", "echo", "--args", bad)
        assert refused.code == Exit.WRONG
        assert refused.json()["status"] == "invalid"


async def test_run_keeps_to_the_policy(shell: Shell) -> None:
    write(shell)
    config = shell.cwd / "artificer.toml"
    config.write_text('[[policy.rules]]\ndecision = "ask"\nrisk = ["high"]\n', encoding="utf-8")
    words = ("tools", "run", "tools", "echo", "--args", '{"text": "hi"}')
    asked = await shell.run(*words)
    assert (asked.code, asked.out) == (Exit.OPERATOR, "")
    assert "--yes" in asked.err
    assert (await shell.run(*words, "--yes")).code == Exit.OK
    config.write_text(text_of(config).replace('"ask"', '"deny"'), encoding="utf-8")
    denied = await shell.run(*words, "--yes")
    assert denied.code == Exit.WRONG
    assert "denied" in denied.out


async def test_examples_of_manifests_are_held(shell: Shell) -> None:
    write(shell)
    held = await shell.run("tools", "test", "tools")
    assert (held.code, held.out) == (Exit.OK, "echo 1: ok\necho 2: ok\necho 3: ok\n")
    write(shell, ECHO.replace('"hi", "3"', '"hi", "4"').replace("hi 1", "ho"))
    broken = await shell.run("tools", "test", "tools")
    assert broken.code == Exit.WRONG
    assert "echo 1: does not contain 'ho'" in broken.out
    assert "echo 2: the command is echo hi 3" in broken.out
    assert broken.err == "3 examples, 2 wrong\n"
    write(shell, ECHO.partition('[[examples]]\nargs = {text = "hi", count = 9}')[0])
    assert (await shell.run("tools", "test", "tools")).err == "1 example, 0 wrong\n"


async def test_new_drafts_a_manifest_that_loads(shell: Shell) -> None:
    result = await shell.run("tools", "new", "sort")
    manifest = parse_manifest(result.out, "sort.clad.toml")
    assert result.code == Exit.OK
    built = argv_of(manifest, {"sort": "version", "reverse": True})
    assert built.argv == ("sort", "--reverse", "--sort=version")
    missing = await shell.run("tools", "new", "no-such-program")
    assert missing.code == Exit.OPERATOR


def test_help_texts_are_read_and_their_quotes_are_harmless() -> None:
    text = (
        '  -o, --output FILE     where "it" goes\n  --all   everything\n  --help  this\n'
        "  --name=<name>         the name\n      --all  again\n no option --here\n"
    )
    options = read_help(text)
    assert [(o.flag, o.value) for o in options] == [
        ("--output", "FILE"),
        ("--all", None),
        ("--name", "name"),
    ]
    written = draft("./bin/x y", ("sub",), options)
    assert tomllib.loads(written)["args"]["output"]["description"] == 'where "it" goes'
    assert argv_of(parse_manifest(written, "x"), {"all": True}).argv == (
        "./bin/x y",
        "sub",
        "--all",
    )


async def test_prune_says_what_it_removed(shell: Shell) -> None:
    assert "0 runs" in (await shell.run("tools", "prune", "--days", "1")).err


@pytest.mark.req("command-habits")
async def test_check_warns_of_shell_habits_and_missing_programs(shell: Shell) -> None:
    tools = shell.cwd / "tools"
    tools.mkdir()
    head = '[tool]\nname = "{}"\nversion = "1"\ndescription = "A tool."\n[command]\n'
    commands = {
        "pipe": 'template = "cat a.txt | head -3"',
        "redirect": 'template = "date > out.txt"',
        "glob": 'exec = ["wc", "*.py"]',
        "variable": 'exec = ["ls", "$HOME/bin"]',
        "tilde": 'exec = ["ls", "~/bin"]',
        "gone": 'exec = ["no-such-program-here"]',
        "secret": 'exec = ["date"]\nenv = { X = "{_secret:gone}" }',
        "fine": 'exec = ["find", ".", "-name", "*.py", "-newer", "a|b", "--format=%h > %s"]',
    }
    for name, command in commands.items():
        (tools / f"{name}.clad.toml").write_text(head.format(name) + command, encoding="utf-8")
    result = await shell.run("tools", "check", "tools")
    assert result.code == 0
    warned = [line for line in result.err.splitlines() if line.startswith("warning: ")]
    for name, word in {
        "pipe": "'|' is an argument",
        "redirect": "'>' redirects nothing",
        "glob": "is not expanded",
        "variable": "use 'env' or 'env_pass'",
        "tilde": "is not your home folder",
        "gone": "no-such-program-here is not installed here",
        "secret": "ARTIFICER_SECRET_GONE is not set here",
    }.items():
        assert [line for line in warned if f"{name}.clad.toml" in line and word in line], name
    assert not [line for line in warned if "fine.clad.toml" in line]


@pytest.mark.req("tools-new-operands")
@pytest.mark.parametrize(
    ("usage", "operands"),
    [
        ("Usage: sort [OPTION]... [FILE]...", [("file", False, True)]),
        (
            "Usage: sort [-r] [--key KEY] SOURCE DEST",
            [("source", True, False), ("dest", True, False)],
        ),
        (
            "SYNOPSIS\n       sort [<options>] [<range>] [[--] <path>...]\n",
            [("range", False, False), ("path", False, True)],
        ),
        (
            "Usage:\tsort [OPTIONS] <sort filter> [file...]",
            [("filter", True, False), ("file", False, True)],
        ),
        ("usage: sort --key KEY file", [("file", True, False)]),
        ("Usage: sort [OPTION]... FILES", [("files", True, True)]),
        (
            "Usage:\n  sort [options] <word> [package-index-options] ...",
            [("word", True, False)],
        ),
        ("no usage at all", []),
    ],
)
def test_operands_are_read_from_the_usage_line(
    usage: str, operands: list[tuple[str, bool, bool]]
) -> None:
    found = read_usage(usage, ("sort",))
    assert [(operand.name, operand.required, operand.many) for operand in found] == operands


@pytest.mark.req("tools-new-operands")
@pytest.mark.parametrize(
    ("usage", "named", "item"),
    [
        ("grep [OPTION]... PATTERNS [FILE]...", "files", '["{files}"]'),
        ("grep PATTERNS FILE", "file_operand", '"{file_operand}"'),
    ],
)
def test_an_operand_with_the_name_of_an_option_stays(usage: str, named: str, item: str) -> None:
    text = f"Usage: {usage}\nSearch.\n\n  -f, --file=FILE  take PATTERNS from FILE\n"
    made = draft("grep", (), read_help(text), read_usage(text, ("grep",)))
    parse_manifest(made, "grep.clad.toml")
    assert f"  {item},\n" in made
    assert list(tomllib.loads(made)["args"]) == ["patterns", named, "file"]


@pytest.mark.req("tools-new-operands")
@pytest.mark.parametrize(
    ("text", "purpose"),
    [
        (
            "Usage: cp [OPTION]... SOURCE DEST\n  or:  cp SOURCE... DIRECTORY\n"
            "Copy SOURCE to DEST, or several to DIRECTORY.\n\n  -r, --recursive  all\n",
            "Copy SOURCE to DEST, or several to DIRECTORY.",
        ),
        (
            "Usage: tar [OPTION...] [FILE]...\nSome tar saves many files in one, and can\n"
            "restore them.\n\nExamples:\n",
            "Some tar saves many files in one, and can restore them.",
        ),
        ("NAME\n       git-log - Show commit logs\n\nSYNOPSIS\n", "Show commit logs"),
        ("Usage: x\nThis is not the full help.\nDefault path is here.\n", ""),
        ("", ""),
    ],
)
def test_the_purpose_of_a_program_is_read_from_its_help(text: str, purpose: str) -> None:
    assert read_purpose(text) == purpose


@pytest.mark.req("tools-new-operands")
def test_a_description_goes_on_in_the_next_lines() -> None:
    text = (
        "  -f, --force                  if a file cannot be opened, remove it\n"
        "                                 and try again\n"
        "  -i, --interactive            ask\n\n"
        "                                 not a part of it\n"
    )
    force, interactive = read_help(text)
    assert force.description == "if a file cannot be opened, remove it and try again"
    assert interactive.description == "ask"


@pytest.mark.req("tools-new-operands")
async def test_a_draft_runs_as_it_is(shell: Shell) -> None:
    tools = shell.cwd / "tools"
    tools.mkdir()
    drafted = await shell.run("tools", "new", "sort")
    (tools / "sort.clad.toml").write_text(drafted.out, encoding="utf-8")
    (shell.cwd / "names.txt").write_text("b\na\n", encoding="utf-8")
    assert 'type = "path"' in drafted.out
    arguments = json.dumps({"file": ["names.txt"], "reverse": True})
    command = ("tools", "run", "tools", "sort", "--yes", "--args")
    result = await shell.run(*command, arguments, "--content")
    assert json.loads(result.out)["stdout"] == "b\na\n", result.err
    outside = json.dumps({"file": ["/etc/hostname"]})
    refused = await shell.run(*command, outside)
    assert refused.code != 0
