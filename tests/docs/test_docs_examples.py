"""Every example of the documentation runs, or says why it cannot."""

from __future__ import annotations

import ast
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import forked_commands
import pytest
from blocks import PAGES, ROOT, Block, blocks

import preloaded
from artificer.cli.main import cli
from artificer.config import load_config
from sampling import one_of

RUN_PAGE = Path(__file__).parent / "run_page.py"
BLOCKS = [block for page in PAGES for block in blocks(page)]
RUNNABLE = [
    page for page in PAGES if any(b.page == page and b.language in ("python", "sh") for b in BLOCKS)
]
FRESH = one_of(RUNNABLE, purpose="pages with imports of their own")
"""Pages that import everything themselves, so that a warning of an import is an error, too."""

NOT_RUN = 20
"""The most blocks that may be marked as not run."""


def name_of(value: Path | Block) -> str:
    return value.place if isinstance(value, Block) else str(value.relative_to(ROOT))


@pytest.mark.req("docs-examples")
@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "ARTIFICER_HOME": str(tmp_path / "home"), "NO_COLOR": "1"}
    environment |= {"ARTIFICER_MODEL": "anthropic/claude-sonnet-5-5", "PYTHONWARNINGS": "error"}
    folder = tmp_path / "work"
    folder.mkdir()
    words, options = [str(RUN_PAGE), str(page)], {"cwd": folder, "env": environment, "text": True}
    if page in FRESH:
        done = subprocess.run([sys.executable, *words], capture_output=True, check=False, **options)
    else:
        with forked_commands.answering() as more:
            options["env"] = environment | more
            done = preloaded.run(words, capture_output=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.req("docs-examples")
def test_few_examples_are_not_run_and_each_says_why() -> None:
    marked = [block for block in BLOCKS if "not run" in block.notes]
    assert [b.place for b in marked if len(b.notes["not run"].split()) < 3] == []
    assert len(marked) <= NOT_RUN, [b.place for b in marked]


@pytest.mark.req("docs-examples")
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "python"], ids=name_of)
def test_an_example_compiles(block: Block) -> None:
    compile(block.source, block.place, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.req("docs-examples")
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "sh"], ids=name_of)
def test_a_command_has_the_options_that_an_example_names(block: Block) -> None:
    for line in block.source.replace("\\\n", " ").splitlines():
        for words in _commands(line):
            _check(words, block)


def _commands(line: str) -> list[list[str]]:
    """Return the words of each `artificer` command of a line."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # a quote that spans lines
        return []
    parts: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set("|&;()<>"):
            parts.append([])
        else:
            parts[-1].append(word)
    return [part[1:] for part in parts if part and part[0] == "artificer"]


def _check(words: list[str], block: Block) -> None:
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            assert command is not cli, f"{block.place}: there is no command {words[0]}"
            break  # a group with a default command, as `artificer build` has
        command, words = found, words[1:]
    used = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert used <= set(_options(command)) | {"--help"}, block.place


def _options(command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        yield from parameter.opts
    if isinstance(command, click.Group) and command is not cli:
        for name in command.list_commands(click.Context(command)):
            if found := command.get_command(click.Context(command), name):
                yield from _options(found)


@pytest.mark.req("docs-examples")
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.title == "artificer.toml"], ids=name_of)
def test_settings_of_an_example_are_known(block: Block, tmp_path: Path) -> None:
    (tmp_path / "artificer.toml").write_text(block.source)
    load_config(tmp_path)


@pytest.mark.req("docs-examples")
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "toml"], ids=name_of)
def test_toml_is_toml(block: Block) -> None:
    tomllib.loads(block.source)
