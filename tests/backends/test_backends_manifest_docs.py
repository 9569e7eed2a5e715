"""``docs/manifests.md`` names what there is: every key, every type, and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import TypeAdapter

from artificer.backends.browser.spec.keys import (
    STATE_FIELDS,
    Action,
    AuthFlowKeys,
    BrowserCommandKeys,
    BrowserDefaultKeys,
    BrowserKeys,
    BrowserScopeKeys,
    BrowserStateKeys,
)
from artificer.backends.command.spec.keys import CommandKeys
from artificer.backends.session.spec.keys import (
    EVENT_TYPES,
    ChildKeys,
    EventKeys,
    InteractionKeys,
    SessionCommandKeys,
    SessionKeys,
)
from artificer.contracts.arguments.keys import ArgumentKeys, DeclaredArgument
from artificer.contracts.arguments.types import ARGUMENT_TYPES, Argument
from artificer.manifests.keys import (
    PLACES,
    ExampleKeys,
    LimitKeys,
    OutputKeys,
    ToolKeys,
)

pytestmark = pytest.mark.req("manifest-docs")

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "manifests.md").read_text(encoding="utf-8")


def test_every_key_and_type_is_told() -> None:
    models = (
        *(ToolKeys, LimitKeys, ArgumentKeys, CommandKeys, OutputKeys, ExampleKeys),
        *(SessionKeys, InteractionKeys, SessionCommandKeys, ChildKeys, EventKeys),
        *(BrowserKeys, BrowserScopeKeys, BrowserCommandKeys, BrowserDefaultKeys),
        *(BrowserStateKeys, AuthFlowKeys),
    )
    names = {field.alias or name for m in models for name, field in m.model_fields.items()}
    for name in {*names, *ARGUMENT_TYPES, *PLACES, *EVENT_TYPES, *STATE_FIELDS, *get_args(Action)}:
        assert re.search(rf"\b{name}\b", TEXT), name


def test_an_argument_has_every_key_that_a_file_may_have() -> None:
    assert {*ArgumentKeys.model_fields, "written"} == set(Argument.field_names())
    read = TypeAdapter(DeclaredArgument).validate_json('{"name": "x"}')
    assert read == Argument(name="x", written=frozenset({"name"}))


def test_every_attack_is_told_with_a_test_that_exists() -> None:
    rows = re.findall(r"^\| ([0-9][0-9, –]*) \| .* \| (.*) \|$", TEXT, re.MULTILINE)
    numbers = [n for cell, _ in rows for n in _numbers(cell)]
    assert sorted(numbers) == list(range(1, 34))
    sources = [p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("test_*.py")]
    for name in re.findall(r"\b(test_\w+)`", TEXT):
        assert any(f"def {name}(" in source for source in sources), name


def _numbers(cell: str) -> list[int]:
    if "–" in cell:
        first, last = map(int, cell.split("–"))
        return list(range(first, last + 1))
    return [int(part) for part in cell.split(",")]
