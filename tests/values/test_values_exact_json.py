"""JSON whose numbers keep their digits."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.values.exact_json import InexactError, exact, parse

pytestmark = pytest.mark.req("exact-json")

NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,60})(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
)
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\ufffd"), max_size=8)


def written(value: Any) -> str:
    """JSON text of a value whose numbers are texts of one character more: a mark."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}: {written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + " , ".join(map(written, value)) + "]"
    return str(value[1]) if isinstance(value, tuple) else json.dumps(value)


VALUES = st.recursive(
    NUMBERS.map(lambda text: ("number", text)) | TEXTS | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def decimals(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: decimals(member) for name, member in value.items()}
    if isinstance(value, list):
        return [decimals(item) for item in value]
    return Decimal(value[1]) if isinstance(value, tuple) else value


@given(VALUES)
def test_every_number_keeps_its_digits(value: Any) -> None:
    kept = exact(parse(written(value)))
    assert json.loads(kept, parse_int=Decimal, parse_float=Decimal) == decimals(value)
    assert exact(parse(kept)) == kept
    assert kept == json.dumps(_marked(value), ensure_ascii=False, separators=(",", ":")).replace(
        '"\ufffd', ""
    ).replace('\ufffd"', "")


def _marked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _marked(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_marked(item) for item in value]
    return f"\ufffd{value[1]}\ufffd" if isinstance(value, tuple) else value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("01", "not JSON"),
        ("1 2", "not JSON"),
        ("\ufeff1", "not JSON"),
        ('"a\nb"', "not JSON"),
        ("NaN", "NaN is not a number"),
        ("[-Infinity]", "-Infinity is not a number"),
        ('{"a": {"b": 1, "b": 1}}', "repeats a member"),
        ("[" * 65 + "]" * 65, "nested more than 64 deep"),
        ("[" * 200_000, "nested more than 64 deep"),
        ('{"a":' * 70 + "1" + "}" * 70, "nested more than 64 deep"),
        ("1" * 129, "129 characters"),
        ("9" * 5_000, "5,000 characters"),
        ("1e6145", "out of range"),
        ("1e-99999999999999999999", "out of range"),
        ('"\\ud800"', "half of a surrogate pair"),
        ('"a\ufffdb"', "may not be UTF-8"),
    ],
)
def test_what_has_no_exact_meaning_is_refused(text: str, words: str) -> None:
    with pytest.raises(InexactError, match=words):
        exact(parse(text))
