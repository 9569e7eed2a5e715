"""Reading the arguments that a model wrote."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.values.canon import MAX_SAFE_INTEGER, canonical
from artificer.values.strict_json import MAX_DEPTH, ParsedObject, parse_canonical, parse_object

pytestmark = pytest.mark.req("strict-json")

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
JSON_TEXT = VALUES.map(lambda value: json.dumps(value))
SPLICED = st.tuples(JSON_TEXT, st.integers(0, 60), st.text(max_size=4)).map(
    lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :]
)
TRUNCATED = st.tuples(JSON_TEXT, st.integers(0, 40)).map(lambda parts: parts[0][: parts[1]])
SCRAPS = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", '"', ":", ",", "1", "-", "1e999", "NaN", "null", "\\ud800", "\ud800"]
    )
).map("".join)


def refusal(text: str) -> str:
    result = parse_object(text)
    assert isinstance(result, tuple) and len(result) == 1, result
    assert result[0].pointer == ""
    return result[0].message


@given(SCRAPS | SPLICED | TRUNCATED | JSON_TEXT | st.text())
def test_any_text_is_canonical_json_or_a_problem(text: str) -> None:
    result = parse_object(text)
    if isinstance(result, tuple):
        assert result
        for problem in result:
            assert problem.canonical()
    else:
        data = canonical(result)
        assert parse_object(data.decode()) == result, "what was read can be read again"


NUMBERS = st.sampled_from(
    [
        *("0", "-0", "1.5", "1e5", "1e400", "1e-400", "9007199254740991", "9007199254740993"),
        *("18446744073709551616", "01", "1.", "+1", "1" * 400, "100000000000000000000.0"),
    ]
)
TEXTS = st.sampled_from(
    ['""', '"a"', '"\u00e9"', '"\uff61"', '"\\n"', '"\t"', '"host7.example.org"']
)
WRITTEN = st.recursive(
    NUMBERS | TEXTS | st.sampled_from(["null", "true", "[]", "{}", ""]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(TEXTS, inner), max_size=4).map(
            lambda members: "{" + ",".join(f"{name} :{value}" for name, value in members) + "}"
        )
    ),
    max_leaves=8,
)
PADDED = st.tuples(st.sampled_from(["", " ", "\n", "\ufeff", "\x0b"]), WRITTEN).map("".join)


@given(PADDED | SCRAPS | SPLICED | TRUNCATED | JSON_TEXT | st.text())
def test_a_text_is_read_alike_with_its_canonical_form_and_without(text: str) -> None:
    slow, fast = parse_object(text), parse_canonical(text)
    if isinstance(slow, tuple):
        assert fast == slow
    else:
        assert fast == ParsedObject(slow, canonical(slow).decode())
        assert isinstance(fast, ParsedObject)
        assert repr(fast.value) == repr(slow), "numbers are of the same types"


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_what_is_read_is_what_was_written(value: dict[str, Any]) -> None:
    result = parse_object(json.dumps(value))
    if not isinstance(result, tuple):
        assert result == value


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_nothing_means_no_arguments(text: str) -> None:
    assert parse_object(text) == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1', "not valid JSON: Expecting ',' delimiter at line 1 column 8"),
        ('{"a": 1}}', "Extra data"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1e999}', "too large"),
        ('{"a": 1, "a": 2}', "member 'a' appears more than once"),
        ('{"x": {"a": 1, "b": 2, "a": 1}}', "member 'a' appears more than once"),
        ('{"a": 9007199254740992}', "beyond 2**53 - 1"),
        ('{"a": -9007199254740992}', "beyond 2**53 - 1"),
        ('{"a": 1e20}', "beyond 2**53 - 1"),
        ('{"a": 9007199254740992.0}', "beyond 2**53 - 1"),
        ('{"a": ' + "9" * 100_000 + "}", "beyond 2**53 - 1"),
        ('{"a": "\\ud800"}', "a string holds a lone surrogate"),
        ('{"\\udfff": 1}', "a member name holds a lone surrogate"),
        ('{"a": ["\ud800"]}', "a string holds a lone surrogate"),
        ("[]", "must be a JSON object"),
        ('"text"', "must be a JSON object"),
        ("null", "must be a JSON object"),
        ("1.5", "must be a JSON object"),
        ("true", "must be a JSON object"),
        ('\ufeff{"a": 1}', "not valid JSON"),
        ('{"a": "\x00"}', "not valid JSON"),
    ],
)
def test_what_is_refused_and_why(text: str, reason: str) -> None:
    message = refusal(text)
    assert reason in message
    assert len(message) < 200


@pytest.mark.parametrize("number", [MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER, 0, 6.02e23, 1e21, 1e-7])
def test_numbers_that_everybody_reads_alike(number: float) -> None:
    result = parse_object(f'{{"a": {number}}}')
    assert result == {"a": number}


def test_depth_is_bounded() -> None:
    def nested(depth: int) -> str:
        return '{"a":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"

    assert isinstance(parse_object(nested(MAX_DEPTH)), dict)
    assert "nested deeper" in refusal(nested(MAX_DEPTH + 1))
    assert "nested" in refusal(nested(200_000))


def test_time_is_linear_in_hostile_text() -> None:
    """100,000 members, two of them alike, would take minutes in quadratic time."""
    members = ",".join(f'"{n}":1' for n in range(100_000))
    began = time.process_time()
    assert "appears more than once" in refusal("{" + members + ',"0":1}')
    assert time.process_time() - began < 10
