"""Canonical JSON and digests."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from artificer.artifacts.deliverable import Deliverable
from artificer.contracts.definition import ToolDefinition
from artificer.core.events import Event
from artificer.core.intents import CheckReply, Intent, JudgeCalls
from artificer.core.record import Line
from artificer.core.state import RunState
from artificer.errors import CanonicalError
from artificer.values.base import Problem, Value
from artificer.values.blocks import Message, TextBlock, ToolUseBlock
from artificer.values.canon import (
    MAX_SAFE_INTEGER,
    ListDigest,
    canonical,
    canonical_typed,
    digest,
)
from artificer.values.message_history import MessageHistory

# Characters at the borders where the orders of UTF-8 and UTF-16 part, and where escapes begin.
CHARACTERS = st.sampled_from("\x00\x07\x08\x1f \"'\\/a\x7fé€\ud7ff\ue000\ufdd0\uffff𐀀😀\U0010ffff")
TEXT = st.text(CHARACTERS, max_size=6) | st.text(max_size=6)
INTEGERS = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [
        0.0,
        -0.0,
        1e16,
        1e20,
        1e21,
        1e22,
        1e-6,
        1e-7,
        5e-324,
        1.7976931348623157e308,
        0.1,
        333333333.3,
    ]
)


def json_of(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
        max_leaves=12,
    )


JSON = json_of(st.none() | st.booleans() | INTEGERS | FLOATS | TEXT)
WITHOUT_FLOATS = json_of(st.none() | st.booleans() | INTEGERS | TEXT)


def _number(text: str) -> float:
    """A whole number as canonical JSON writes it: beyond 2**53 it was a float."""
    return int(text) if abs(int(text)) <= MAX_SAFE_INTEGER else float(text)


@pytest.mark.req("canonical-json")
class TestCanonical:
    @given(JSON)
    def test_is_what_the_reference_library_writes(self, value: Any) -> None:
        assert canonical(value) == rfc8785.dumps(value)

    @given(JSON)
    def test_reads_back_and_is_its_own_canonical_form(self, value: Any) -> None:
        data = canonical(value)
        again = json.loads(data, parse_int=_number)
        assert canonical(again) == data

    @given(st.dictionaries(st.text("abcXYZ_$", max_size=5), WITHOUT_FLOATS, max_size=5))
    def test_the_fast_path_agrees_where_it_may_be_used(self, value: dict[str, Any]) -> None:
        flat = {name: json.dumps(member) for name, member in value.items()}
        assert canonical_typed(flat) == rfc8785.dumps(flat)

    @pytest.mark.parametrize(
        "value",
        [
            math.nan,
            math.inf,
            [-math.inf],
            {"a": [None, math.nan]},
            MAX_SAFE_INTEGER + 1,
            -MAX_SAFE_INTEGER - 1,
            {"a": 10**30},
            "\ud800",
            {"\udfff": 1},
            ["a\udc00b", 1.5],
            b"bytes",
            {1: "a"},
            object(),
            {"a"},
        ],
    )
    def test_what_has_no_canonical_form_is_refused(self, value: Any) -> None:
        with pytest.raises(CanonicalError):
            canonical(value)

    @pytest.mark.req("not-utf-8-named")
    @pytest.mark.parametrize("refuse", [canonical, canonical_typed])
    def test_a_text_that_is_not_utf_8_is_named(self, refuse: Callable[[Any], bytes]) -> None:
        folder = os.fsdecode(b"/srv/donn\xe9es")
        for value in (folder, {"host": {"folder": folder}}, [1, {folder: None}]):
            with pytest.raises(CanonicalError, match=r"'/srv/donn\\udce9es'") as caught:
                refuse(value)
            assert "Rename" in (caught.value.hint or "")

    def test_nesting_without_end_is_refused(self) -> None:
        value: list[Any] = []
        for _ in range(100_000):
            value = [value]
        with pytest.raises(CanonicalError):
            canonical(value)

    @pytest.mark.parametrize("value", ["\ud800", 2**53, {"a": ["\udfff"]}])
    def test_the_fast_path_refuses_too(self, value: Any) -> None:
        with pytest.raises(CanonicalError):
            canonical_typed(value)

    def test_the_example_of_the_standard(self) -> None:
        """RFC 8785 section 3.2.2."""
        value = {
            "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27],
            "string": '€$\x0f\nA\'B"\\\\"/',
            "literals": [None, True, False],
        }
        assert canonical(value).decode() == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        )


REST = st.dictionaries(TEXT | st.sampled_from(["messages", "input"]), JSON, max_size=4)
STEPS = st.lists(
    st.tuples(st.sampled_from(["grow", "grow", "grow", "rest", "replace", "shrink", "key"]), JSON),
    max_size=12,
)


@pytest.mark.req("canonical-list-digest")
class TestListDigest:
    @given(REST, STEPS)
    def test_is_the_digest_of_the_whole(self, rest: dict[str, Any], steps: list[Any]) -> None:
        growing, items, key = ListDigest(), list[Any](), "messages"
        for what, value in steps:
            if what == "grow":
                items = [*items, {"item": value}]
            elif what == "rest":
                rest = {"other": value}
            elif what == "replace":
                items = [{"new": value} for _ in items]
            elif what == "shrink":
                items = items[: len(items) // 2]
            else:
                key = "input" if key == "messages" else "messages"
            assert growing.digest(rest, key, items) == digest({**rest, key: items})

    def test_goes_on_after_an_item_that_has_no_canonical_form(self) -> None:
        growing, rest = ListDigest(), {"model": "m"}
        items: list[Any] = [{"a": 1}]
        growing.digest(rest, "messages", items)
        with pytest.raises(CanonicalError):
            growing.digest(rest, "messages", [*items, {"b": 2}, math.nan])
        good = [*items, {"c": 3}]
        assert growing.digest(rest, "messages", good) == digest({**rest, "messages": good})


@pytest.mark.req("canonical-no-floats")
class TestStoredValues:
    @pytest.mark.parametrize("stored", [Event, Intent, Line, RunState, Deliverable])
    def test_no_stored_value_holds_a_float(self, stored: Any) -> None:
        """Stored values are hashed by the fast path, which does not support floats."""
        schema = msgspec.json.schema(stored, schema_hook=_custom)
        assert list(_numbers(schema, "")) == []
        assert '"integer"' in json.dumps(schema)

    def test_the_check_would_find_one(self) -> None:
        assert list(_numbers(msgspec.json.schema(list[float]), "")) == ["/items"]

    def test_limits_of_a_problem_become_text(self) -> None:
        problem = Problem(pointer="/x", message="is too large", limit=0.5, actual=(1.5, 2))  # type: ignore[arg-type]
        assert (problem.limit, problem.actual) == ("0.5", ("1.5", 2))
        assert problem.canonical() == canonical(problem.to_json())

    def test_member_names_are_ascii(self) -> None:
        names = {name for model in (RunState, ToolDefinition) for name in model.field_names()}
        assert all(name.isascii() for name in names)


def _custom(kind: Any) -> Any:
    assert kind is MessageHistory
    return {"type": "array", "items": msgspec.json.schema(Message)}


def _numbers(schema: Any, where: str) -> Any:
    if isinstance(schema, dict):
        if schema.get("type") == "number" or "number" in _listed(schema.get("type")):
            yield where
        for name, member in schema.items():
            yield from _numbers(member, f"{where}/{name}")
    elif isinstance(schema, list):
        for index, member in enumerate(schema):
            yield from _numbers(member, f"{where}/{index}")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


@pytest.mark.req("digests-outlive-fields")
class TestIdentity:
    def test_a_field_with_a_default_that_comes_later_changes_no_digest(self) -> None:
        class Old(Value):
            a: int
            b: str = "x"

        class New(Old):
            c: int | None = None

        assert Old(a=1).identity() == New(a=1).identity() == b'{"a":1}'
        assert Old(a=1, b="y").identity() == New(a=1, b="y").identity()
        assert New(a=1, c=2).identity() != Old(a=1).identity()

    def test_intents_of_different_kinds_differ_also_when_they_say_the_same(self) -> None:
        assert JudgeCalls(n=1, turn=1).digest != CheckReply(n=1, turn=1).digest


@pytest.mark.req("text-well-formed")
class TestText:
    @given(st.text(st.characters(exclude_categories=[]) | st.sampled_from("\ud800\udfff😀")))
    def test_text_from_outside_can_always_be_stored(self, text: str) -> None:
        block = TextBlock(text=text)
        assert block.text.encode().decode() == block.text
        assert len(block.text) <= max(len(text), 1)
        if not any(0xD800 <= ord(c) <= 0xDFFF for c in text):
            assert block.text == text

    def test_the_rest_of_the_text_is_kept(self) -> None:
        block = ToolUseBlock(id="a", name="b\ud800", arguments='{"x": "é\udfff😀"}')
        assert (block.name, block.arguments) == ("b\ufffd", '{"x": "é\ufffd😀"}')

    def test_digests_are_sha256_of_canonical_bytes(self) -> None:
        assert digest({"b": 1, "a": 2.0}) == (
            "sha256:" + hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
        )
