"""``--help``: quick, complete, and true."""

from __future__ import annotations

from importlib import import_module

import click
import pytest
from cli_kit import Shell

from artificer.cli.main import COMMANDS, cli
from artificer.cli.terminal.exits import MEANINGS, Exit

HEAVY = ("pydantic", "rich", "asyncio", "jsonschema_rs", "sqlite3", "anthropic", "openai")


@pytest.mark.req("cli-help-cheap")
@pytest.mark.parametrize("words", [("--help",), ("--version",), ("nonsense",)])
async def test_help_imports_nothing_heavy(shell: Shell, words: tuple[str, ...]) -> None:
    result = await shell.run_process(*words, env={"PYTHONPROFILEIMPORTTIME": "1"})
    imported = {line.split("|")[-1].strip() for line in result.err.splitlines() if "|" in line}
    assert "artificer.cli.main" in imported
    assert imported.isdisjoint(HEAVY)
    assert not {name for name in imported if name.startswith("artificer.cli.run.run")}


@pytest.mark.req("cli-help-true")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_is(name: str) -> None:
    command = import_module(f"artificer.cli.{COMMANDS[name][0]}").command
    assert isinstance(command, click.Command)
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
        (["run"], "Missing argument 'PROMPT'", "`artificer run --help`"),
        (["run", "hello", "--modle", "x/y"], "No such option", "`artificer run --help`"),
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


@pytest.mark.req("cli-usage")
async def test_without_words_it_helps(shell: Shell) -> None:
    result = await shell.run()
    assert result.code == Exit.USAGE
    assert "Commands:" in result.err
