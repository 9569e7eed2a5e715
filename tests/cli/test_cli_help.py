"""``--help``: quick, complete, and true."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_args

import click
import pytest
from cli_kit import Shell

from artificer import Agent, World, tool
from artificer.builds.facts import AGREED
from artificer.builds.table import BUILD_TOKENS, REVIEWS, RUN_TOKENS, STEP_RULES, Size
from artificer.cli.commands import build as declared
from artificer.cli.commands import policy
from artificer.cli.commands.run import run
from artificer.cli.declare import Command
from artificer.cli.main import COMMANDS, SECTIONS, cli
from artificer.cli.settings import Settings
from artificer.cli.terminal.exits import MEANINGS, Exit
from artificer.config import Config
from artificer.core.kinds import PROMPTED, RunKind
from artificer.providers.scripted import ScriptedProvider, call, reply, say

LIGHT = ("artificer.cli.commands", "artificer.cli.terminal")
LIGHT_MODULES = {
    "artificer.cli",
    "artificer.cli.declare",
    "artificer.cli.main",
    "artificer.cli.settings",
    "artificer.errors",
    "artificer.plugins",
    "artificer.values",
    "artificer.values.release",
    "artificer.values.text",
    "artificer.values.unseen",
}
HEAVY = ("pydantic", "rich", "asyncio", "jsonschema_rs", "sqlite3", "anthropic", "openai")


@tool(effect="pure")
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


async def imported_by(shell: Shell, *words: str) -> set[str]:
    """The modules that an interpreter imports for a command."""
    result = await shell.run_process(*words, env={"PYTHONPROFILEIMPORTTIME": "1"})
    imported = {line.split("|")[-1].strip() for line in result.err.splitlines() if "|" in line}
    assert "artificer.cli.main" in imported
    return imported


@pytest.mark.req("cli-help-cheap")
@pytest.mark.parametrize("words", [("--help",), ("--version",), ("nonsense",)])
async def test_help_imports_no_declaration(shell: Shell, words: tuple[str, ...]) -> None:
    imported = await imported_by(shell, *words)
    assert imported.isdisjoint(HEAVY)
    assert not {name for name in imported if name.startswith("artificer.cli.commands")}


@pytest.mark.req("cli-command-help-cheap")
@pytest.mark.parametrize(
    "words", [("run", "--help"), ("build", "start", "--help"), ("run", "hello", "--modle", "x")]
)
async def test_parsing_a_command_line_imports_only_declarations(
    shell: Shell, words: tuple[str, ...]
) -> None:
    imported = await imported_by(shell, *words)
    assert imported.isdisjoint(HEAVY)
    ours = {name for name in imported if name.startswith("artificer.")}
    assert {name for name in ours if not name.startswith(LIGHT)} <= LIGHT_MODULES


ACTING = (
    "anthropic",
    "artificer.agent",
    "artificer.backends.backend",
    "artificer.maintenance",
    "artificer.manifests",
    "artificer.runtime.engine",
    "artificer.runtime.ledger",
    "artificer.storage.memory.journal",
    "artificer.wiring.engines",
    "artificer.wiring.resources",
    "artificer.wiring.toolbox",
    "importlib.metadata",
    "jinja2",
    "markdown_it",
    "openai",
    "pydantic",
    "pydantic_core",
    "rich",
)
"""Modules that make or render runs, explain faults, or look for plug-ins."""


@pytest.mark.req("cli-reading-cheap")
@pytest.mark.parametrize("words", [("runs",), ("show", "last"), ("replay", "last")])
async def test_a_command_that_reads_imports_nothing_that_acts(
    shell: Shell, words: tuple[str, ...]
) -> None:
    (shell.cwd / "artificer.toml").write_text("[budget]\nper_day_tokens = 1000\n")
    model = ScriptedProvider([reply(call("double", number=1)), say("Two.")])
    config = Config(home=shell.home, project="test", durability="process")
    async with World.open(config) as world:
        await world.run("Double 1.", Agent(model=model, tools=[double], kind="chat"))
    imported = await imported_by(shell, *words)
    assert "artificer.storage.sqlite.journal" in imported
    assert imported.isdisjoint(ACTING)


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[Command]:
    """Every command of a group and of the groups in it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))
        else:
            assert isinstance(found, Command)
            yield found


@pytest.mark.req("cli-declarations")
@pytest.mark.parametrize("command", [*commands(cli)], ids=lambda command: command.work)
def test_a_declaration_names_the_function_that_does_the_work(command: Command) -> None:
    module, _, function = command.work.partition(":")
    work = getattr(import_module(f"artificer.cli.{module}"), function)
    settings, options = inspect.signature(work, eval_str=True).parameters.values()
    assert settings.annotation is Settings
    assert options.annotation is command.declared
    assert command.help
    for parameter in command.params:
        assert isinstance(parameter, click.Argument) or parameter.help or parameter.default


@pytest.mark.req("cli-declarations")
def test_declared_choices_are_those_of_the_runtime() -> None:
    assert tuple(size for size in get_args(Size) if size != "brief") == declared.SIZES
    assert REVIEWS[1:] == declared.REVIEW_PASSES
    assert tuple(kind for kind in STEP_RULES if kind != "code") == declared.JUDGED_KINDS
    assert tuple(kind.replace("_", "-") for kind in AGREED) == declared.ACCEPTED_CONCERNS
    assert get_args(RunKind) == policy.KINDS
    (kind,) = [p for p in run.params if p.name == "kind"]
    assert isinstance(kind.type, click.Choice) and set(kind.type.choices) == set(PROMPTED)
    start = declared.build.commands["start"]
    helps = {p.name: p.help for p in start.params if isinstance(p, click.Option)}
    assert f"{RUN_TOKENS:,}" in (helps["max_run_tokens"] or "")
    for size in ("medium", "brief"):
        assert f"{BUILD_TOKENS[size]:,}" in (helps["total_tokens"] or "")


@pytest.mark.req("cli-help-true")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_is(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    assert command.help is not None
    assert "Example" in command.help


@pytest.mark.req("cli-help-true")
def test_every_command_is_reached_and_none_is_forgotten() -> None:
    context = click.Context(cli)
    assert [cli.get_command(context, name).name for name in COMMANDS] == list(COMMANDS)
    assert cli.list_commands(context) == list(COMMANDS)
    assert cli.get_command(context, "main") is None


@pytest.mark.req("cli-exit-codes")
async def test_help_lists_every_command_and_every_exit_code(shell: Shell) -> None:
    result = await shell.run("--help")
    assert result.code == Exit.OK
    for name, (_, help_line) in COMMANDS.items():
        assert f"{name:<{max(map(len, COMMANDS))}}  {help_line}" in result.out
    assert set(MEANINGS) == set(Exit)
    for code, meaning in MEANINGS.items():
        assert f"{code.value:>5}  {meaning}" in result.out


@pytest.mark.req("cli-usage")
@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["rum"], "No such command 'rum'", "`artificer --help`"),
        (["run"], "The prompt is empty", "`artificer run --help`"),
        (["run", "hello", "--modle", "x/y"], "No such option", "Did you mean --model? See `"),
        (
            ["run", "hi", "--project", "x"],
            "for `artificer run`",
            "`artificer --project NAME run …`",
        ),
        (["show", "last", "-v"], "'-v' for `artificer show`", "before the command"),
        (
            ["run", "hi", "--projcet", "x"],
            "'--projcet'",
            "--project? It belongs before the command",
        ),
        (
            ["--model", "x/y", "run", "hi"],
            "for `artificer`",
            "after the command: `artificer run --",
        ),
        (["--modle", "x/y", "run", "hi"], "'--modle'", "See `artificer --help`"),
        (["resume", "last", "--tools"], "requires an argument", "`artificer resume --help`"),
        (["run", "  "], "The prompt is empty", "`artificer run --help`"),
        (["show", "last", "--json", "--raw"], "exclude each other", "`artificer show --help`"),
    ],
)
async def test_a_wrong_command_line_is_explained(
    shell: Shell, words: list[str], error: str, hint: str
) -> None:
    result = await shell.run(*words)
    assert result.code == Exit.USAGE
    assert result.out == ""
    first, second = result.err.splitlines()
    assert first.startswith("error: ")
    assert error in first
    assert second.startswith("hint: ")
    assert hint in second


@pytest.mark.req("cli-help-by-task")
async def test_the_commands_are_grouped_by_task(shell: Shell) -> None:
    shown = (await shell.run("--help")).out
    places = [shown.index(f"\n{section}:\n") for section in SECTIONS]
    assert places == sorted(places)
    for section, commands in SECTIONS.items():
        block = shown.split(f"\n{section}:\n", 1)[1].split("\n\n", 1)[0]
        assert [line.split()[0] for line in block.splitlines()] == [*commands]


@pytest.mark.req("cli-usage")
async def test_without_words_it_helps(shell: Shell) -> None:
    result = await shell.run()
    assert result.code == Exit.USAGE
    assert "Continue:" in result.err


@pytest.mark.req("tests-processes")
async def test_a_command_imports_from_where_the_tests_do(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "from pathlib import Path; Path('found').touch()"
    (tmp_path / "sitecustomize.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    version = await shell.run_process("--version", env={"PYTHONOPTIMIZE": "1"})  # no fork
    assert version.code == 0
    assert (shell.cwd / "found").exists()
