"""The glossary and the code: each names what the other has."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, get_args

import click
import pytest

import artificer
from artificer.cli.main import cli
from artificer.contracts.definition import EffectClass
from artificer.core.kinds import KINDS

pytestmark = pytest.mark.req("glossary")

GLOSSARY = Path(__file__).parents[1] / "docs" / "glossary.md"
TERMS = (
    *("world", "agent", "run", "turn", "event", "intent", "receipt", "journal", "record"),
    *("blob", "digest", "block", "provider", "profile", "tool definition", "manifest", "toolset"),
    *("evidence", "policy", "decision", "signal", "budget", "capabilities", "artifact"),
    *("deliverable", "binding", "placeholder", "build", "job", "owner", "recording"),
)
"""The terms without which nobody understands the rest."""


class Row(NamedTuple):
    terms: list[str]
    meaning: str
    places: list[str]


def rows() -> list[Row]:
    lines = GLOSSARY.read_text(encoding="utf-8").splitlines()
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("| ")][2:]
    return [
        Row(terms.strip().split(", "), meaning.strip(), re.findall(r"`([^`]+)`", where))
        for terms, meaning, where in cells
    ]


ROWS = rows()


def row_of(term: str) -> Row:
    return next(row for row in ROWS if term in row.terms)


def exists(place: str) -> bool:
    """Whether a command with its option, or a module, a class or a member is there."""
    return _command(place.split()[1:]) if " " in place else _name(place.split("."))


def _command(words: list[str]) -> bool:
    command: click.Command | None = cli
    for word in words:
        assert command is not None
        if word.startswith("-"):
            return any(word in parameter.opts for parameter in command.params)
        if not isinstance(command, click.Group):
            return False
        command = command.get_command(click.Context(command), word)
    return command is not None


def _name(parts: list[str]) -> bool:
    value: object = artificer
    for number, part in enumerate(parts[1:], 2):
        found = getattr(value, part, None)
        if found is None and part in _members(value):
            return number == len(parts)
        if found is None:
            try:
                found = import_module(".".join(parts[:number]))
            except ImportError:
                return False
        value = found
    return True


def _members(value: object) -> set[str]:
    return {
        name for base in getattr(value, "__mro__", ()) for name in inspect.get_annotations(base)
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.terms[0])
def test_a_row_has_a_meaning_and_names_places_that_exist(row: Row) -> None:
    assert row.terms != [""] and row.meaning and row.places
    assert not row.meaning.lower().startswith(("what ", "said ", "whoever "))
    assert [place for place in row.places if not exists(place)] == []


def test_a_term_has_one_meaning() -> None:
    counts = Counter(term for row in ROWS for term in row.terms)
    assert [term for term, count in counts.items() if count > 1] == []
    assert sorted(set(TERMS) - counts.keys()) == []


def test_every_public_class_belongs_to_a_term() -> None:
    named = {place for row in ROWS for place in row.places}
    public = {name: getattr(artificer, name) for name in artificer.__all__}
    missing = [
        name
        for name, value in public.items()
        if not inspect.isroutine(value)
        and not (inspect.isclass(value) and issubclass(value, BaseException))
        and f"artificer.{name}" not in named
    ]
    assert missing == []


def test_kinds_are_complete() -> None:
    assert set(KINDS) <= set(re.findall(r"`(\w+)`", row_of("run").meaning))
    assert set(get_args(EffectClass)) == set(re.findall(r"`(\w+)`", row_of("effect class").meaning))


def test_a_place_that_is_not_there_is_found() -> None:
    wrong = ("artificer.Wurld", "artificer.Limits.wishes", "artificer bulid", "artificer run --x")
    assert not any(map(exists, wrong))
