"""docs/reference/cli.md names what there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from artificer.cli.main import COMMANDS, cli
from artificer.cli.terminal.exits import MEANINGS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")


def options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        yield from (word for word in parameter.opts if word.startswith("--"))


@pytest.mark.req("cli-reference")
@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_stands_in_its_section(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    section = PAGE.split(f"\n## {name}", 1)[1].split("\n## ", 1)[0]
    for option in options(command):
        assert option in section


@pytest.mark.req("cli-reference")
def test_the_options_of_all_and_the_exit_codes_are_there() -> None:
    for option in options(cli):
        assert f"`{option}" in PAGE
    for code, meaning in MEANINGS.items():
        assert f"| {code.value} | {meaning} |" in PAGE
