"""Requirements and tests, held against each other both ways.

The tests are read, not run: what a mark names stands in the source as plain text.
"""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent

pytestmark = pytest.mark.xdist_group("requirements")  # one worker reads the tests, once


def requirements() -> list[dict[str, Any]]:
    return tomllib.loads((TESTS / "requirements.toml").read_text(encoding="utf-8"))["requirement"]


@cache
def read(source: str) -> tuple[list[tuple[int, str | None]], list[str]]:
    """The marks of a module and its tests without any. Its syntax tree is large and not kept."""
    tree = ast.parse(source)
    return list(_marks(tree)), list(_unmarked(tree, ""))


def marks(source: str) -> list[tuple[int, str | None]]:
    """Every id that a ``pytest.mark.req(...)`` names, with its line; None for what is no text."""
    return read(source)[0]


def _marks(tree: ast.Module) -> Iterator[tuple[int, str | None]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_mark(node.func):
            for argument in node.args:
                text = argument.value if isinstance(argument, ast.Constant) else None
                yield node.lineno, text if isinstance(text, str) else None


def _is_mark(function: ast.expr) -> bool:
    named = isinstance(function, ast.Attribute) and function.attr == "req"
    return named and ast.unparse(function) in ("pytest.mark.req", "mark.req")


def unmarked(source: str) -> list[str]:
    """Tests that carry no requirement: neither they nor their class nor their module does."""
    return read(source)[1]


def _unmarked(parent: ast.Module | ast.ClassDef, prefix: str) -> Iterator[str]:
    if any(isinstance(node, ast.Assign) and _names_one(node) for node in parent.body):
        return  # pytestmark = ...
    for node in parent.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if any(map(_names_one, node.decorator_list)):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _unmarked(node, f"{node.name}.")
        elif node.name.startswith("test_"):
            yield prefix + node.name


def _names_one(node: ast.AST) -> bool:
    return "pytest.mark.req(" in ast.unparse(node)


def sources() -> Iterator[tuple[str, str]]:
    for path in sorted(TESTS.rglob("test_*.py")):
        if path != Path(__file__):
            yield str(path.relative_to(TESTS)), path.read_text(encoding="utf-8")


def test_every_requirement_is_complete_and_named_once() -> None:
    for requirement in requirements():
        assert requirement.keys() == {"id", "source", "text"}, requirement
        assert all(isinstance(v, str) and v.strip() for v in requirement.values()), requirement
    twice = [i for i, count in Counter(r["id"] for r in requirements()).items() if count > 1]
    assert twice == []


def test_every_requirement_is_held_by_a_test() -> None:
    carried = {name for _, source in sources() for _, name in marks(source)}
    assert sorted({r["id"] for r in requirements()} - carried) == []


def test_every_mark_names_a_requirement() -> None:
    known = {r["id"] for r in requirements()}
    wrong = [
        f"{path}:{line}: {name}"
        for path, source in sources()
        for line, name in marks(source)
        if name not in known
    ]
    assert wrong == []


def test_every_test_carries_a_requirement() -> None:
    assert [f"{path}: {name}" for path, source in sources() for name in unmarked(source)] == []


@pytest.mark.parametrize(
    ("source", "found", "bare"),
    [
        ("@pytest.mark.req('a', 'b')\ndef test_x(): ...", ["a", "b"], []),
        ("pytestmark = pytest.mark.req('a')\ndef test_x(): ...", ["a"], []),
        ("pytestmark = [pytest.mark.slow, pytest.mark.req('a')]\ndef test_x(): ...", ["a"], []),
        ("@pytest.mark.req('a')\nclass TestX:\n    async def test_y(self): ...", ["a"], []),
        ("class TestX:\n    def test_y(self): ...", [], ["TestX.test_y"]),
        ("async def test_x(): ...", [], ["test_x"]),
        ("@pytest.mark.req(NAME)\ndef test_x(): ...", [None], []),
    ],
)
def test_the_reading_of_marks(source: str, found: list[str | None], bare: list[str]) -> None:
    assert [name for _, name in marks(source)] == found
    assert unmarked(source) == bare
