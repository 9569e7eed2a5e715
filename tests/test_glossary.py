"""The glossary and the code: each names what the other has."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, get_args

import click
import pytest

import artificer
import artificer.events
import artificer.extend
import artificer.types
from artificer.cli.commands.inspect import STATUSES
from artificer.cli.main import cli
from artificer.contracts.definition import EffectClass
from artificer.core.kinds import KINDS

pytestmark = pytest.mark.req("glossary")

GLOSSARY = Path(__file__).parents[1] / "docs" / "glossary.md"
SOURCE = GLOSSARY.parents[1] / "src"
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


def _class_of(place: str) -> object:
    """The value at a place ``artificer.Name`` or ``artificer.part.Name``."""
    value: object = artificer
    for number, part in enumerate(place.split(".")[1:], 2):
        found = getattr(value, part, None)
        value = import_module(".".join(place.split(".")[:number])) if found is None else found
    return value


def _words(name: str) -> tuple[str, ...]:
    """The words of a class, a table or a term in lower case and in the singular."""
    found = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    return tuple(_singular(word.lower()) for word in found)


def _singular(word: str) -> str:
    return re.sub(r"(?<=[a-z]{2})(?<!s|i|u)s$", "", re.sub("ies$", "y", word))


TERM_WORDS = {_words(term) for row in ROWS for term in row.terms}


def holds_a_term(name: str) -> bool:
    """Whether some words of a name, in a row, are a term."""
    words = _words(name)
    ends = range(1, len(words) + 1)
    return any(words[start:end] in TERM_WORDS for end in ends for start in range(end))


PLAIN = {"JsonObject", "JsonValue"}
"""Public types without a term: JSON is what everybody calls so."""

STORED = {
    "about": "what an index knows of itself",
    "chunks": "a part of a snapshot",
    "letters": "signals, under the name that the format gives them",
    "meta": "the world's id, format and site",
    "states": "a part of a snapshot",
    "texts": "a part of an index",
    "tip": "the head of the world's chain",
    "words": "a part of an index",
}
"""Tables whose names are formats, or parts of a cache, and what they hold."""

ORDINARY = {"completion"}
"""Commands that every program has under this name."""

VERBS = {"Compare": "comparison"}
"""Pages that are named by a verb, and their terms."""

PAGES = re.compile(r'\("[^"]*", "([A-Z][a-z]+)"\)')


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.terms[0])
def test_a_row_has_a_meaning_and_names_places_that_exist(row: Row) -> None:
    assert row.terms != [""] and row.meaning and row.places
    assert not row.meaning.lower().startswith(("what ", "said ", "whoever "))
    assert [place for place in row.places if not exists(place)] == []


def test_a_term_has_one_meaning() -> None:
    counts = Counter(_words(term) for row in ROWS for term in row.terms)
    assert [term for term, count in counts.items() if count > 1] == []
    assert sorted(set(TERMS) - {term for row in ROWS for term in row.terms}) == []


def test_a_class_belongs_to_one_term() -> None:
    places = Counter(p for row in ROWS for p in row.places if p.rpartition(".")[2][0].isupper())
    assert [place for place, count in places.items() if count > 1] == []


def test_every_public_class_belongs_to_a_term() -> None:
    """By a word of its name, by its place, or by the module that a row names."""
    named = [_class_of(place) for row in ROWS for place in row.places if " " not in place]
    modules = {value.__name__ for value in named if inspect.ismodule(value)}
    missing = [
        name
        for door in (artificer, artificer.types, artificer.events, artificer.extend)
        for name in getattr(door, "__all__", None) or _own(door)
        if name[0].isupper()
        and not name.isupper()  # a constant
        and name not in PLAIN
        and not _is_error(value := getattr(door, name))
        and not holds_a_term(name)
        and getattr(value, "__module__", "") not in modules
        and not any(value is one for one in named)
    ]
    assert missing == []


def _own(module: ModuleType) -> list[str]:
    found = vars(module).items()
    return [name for name, value in found if getattr(value, "__module__", "") == module.__name__]


def _is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)


def test_every_table_belongs_to_a_term() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    tables = set(re.findall(r"CREATE (?:\w+ )?TABLE (?:IF NOT EXISTS )?([a-z]+)\b", source))
    assert len(tables) > len(STORED)
    assert sorted(name for name in tables - STORED.keys() if not holds_a_term(name)) == []
    assert STORED.keys() - tables == set()


def test_every_section_of_the_settings_belongs_to_a_term() -> None:
    settings = tomllib.loads((GLOSSARY.parent / "settings_reference.toml").read_text("utf-8"))
    sections = {name.partition(".")[0] for name in settings} - {"top"}
    parts = {part.lower() for row in ROWS for p in row.places for part in p.split(".")}
    assert sorted(s for s in sections - parts if not holds_a_term(s)) == []


def test_every_command_belongs_to_a_term() -> None:
    context = click.Context(cli)
    named = {place.split()[1] for row in ROWS for place in row.places if " " in place}
    commands = set(cli.list_commands(context)) - ORDINARY - named
    assert sorted(name for name in commands if not holds_a_term(name)) == []


def test_every_page_of_the_studio_belongs_to_a_term() -> None:
    templates = SOURCE / "artificer" / "studio" / "templates"
    pages = [
        page
        for name in ("base.html", "run_nav.html")
        for page in PAGES.findall((templates / name).read_text(encoding="utf-8"))
    ]
    assert len(pages) > 8
    named = {place.split()[1] for row in ROWS for place in row.places if " " in place}
    pages = [VERBS.get(page, page) for page in pages]
    assert [p for p in pages if not holds_a_term(p) and p.lower() not in named] == []


def test_a_name_without_a_term_is_found() -> None:
    assert not any(map(holds_a_term, ("Wishes", "letters", "Facilities", "MoneyBag")))
    assert holds_a_term("OwnerLeases") and holds_a_term("RunIndex") and holds_a_term("policies")


def test_kinds_and_statuses_are_complete() -> None:
    assert set(KINDS) <= set(re.findall(r"`(\w+)`", row_of("run").meaning))
    assert {*STATUSES, "queued"} == set(re.findall(r"`(\w+)`", row_of("status").meaning))
    assert set(get_args(EffectClass)) == set(re.findall(r"`(\w+)`", row_of("effect class").meaning))


def test_a_place_that_is_not_there_is_found() -> None:
    wrong = ("artificer.Wurld", "artificer.Limits.wishes", "artificer bulid", "artificer run --x")
    assert not any(map(exists, wrong))


# ── words of ours ────────────────────────────────────────────────────────────────────────────────

WORDS = re.compile(r"\b(anew|heard|owed|owes|stirred|told|whoever)\b", re.IGNORECASE)

FORMATS = {
    "src/artificer/backends/host/writing.py": "a result that models read",
    "src/artificer/builds/handlers.py": "reports that states hold",
    "src/artificer/builds/prompts/completeness.md": "instructions that runs record",
    "src/artificer/builds/prompts/final.md": "instructions that runs record",
    "src/artificer/builds/prompts/plan.md": "instructions that runs record",
    "src/artificer/core/compaction.py": "a recorded field",
    "src/artificer/core/context.py": "a recorded field",
    "src/artificer/core/intents.py": "a recorded field",
    "src/artificer/core/window.py": "a recorded field",
    "src/artificer/runtime/builds/outcome.py": "a report that states hold",
}
"""Texts and names that records or requests hold, so that they are formats."""

UNREAD = ("docs/gallery/", "src/artificer/render/static/")
"""Reports that a model wrote, and files of others."""


def texts() -> Iterator[tuple[str, str]]:
    """Every text that people read: the source, its templates, the documentation."""
    suffixes = {".html", ".js", ".md", ".py", ".pyi", ".toml"}
    for folder in ("src", "docs", "deploy"):
        for path in sorted((SOURCE.parent / folder).rglob("*")):
            place = path.relative_to(SOURCE.parent).as_posix()
            if path.suffix in suffixes and not place.startswith(UNREAD):
                yield place, path.read_text(encoding="utf-8")
    for path in sorted(SOURCE.parent.glob("*.md")):
        yield path.name, path.read_text(encoding="utf-8")


@pytest.mark.req("plain-words")
def test_people_read_plain_words() -> None:
    found = {place: WORDS.findall(text) for place, text in texts() if WORDS.search(text)}
    assert {place: words for place, words in found.items() if place not in FORMATS} == {}
    assert FORMATS.keys() - found.keys() == set(), "every exception is needed"


@pytest.mark.req("plain-words")
def test_a_word_of_ours_is_found() -> None:
    assert all(map(WORDS.search, ("whoever asks", "It owes one.", "Told so")))
    assert WORDS.search("the height of a shoulder") is None
