"""The line about data: what a model learns of a result that charts can be bound to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.artifacts.binding.shape import MAX_LINE, data_line, first_rows, shape_of
from artificer.values.exact_json import parse

pytestmark = pytest.mark.req("data-shape")


def line(text: str) -> str:
    said = data_line("t#1", shape_of(parse(text)))
    return said.removeprefix("[Data: t#1 · ").removesuffix("]")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"a": 1, "b": "x"}, {"a": 2}]', 'rows at "": 2 · columns: a (number), b (text)'),
        ('{"r": {"s": [{"a": null}]}}', 'rows at "/r/s": 1 · columns: a (empty)'),
        ('{"a/b~": [[1, "x"]]}', 'rows at "/a~1b~0": 1 · columns: "0" (number), "1" (text)'),
        ('[{"d": "2024-02-29"}, {"d": null}]', 'rows at "": 2 · columns: d (date)'),
        ('[{"d": "2024-02-29T10:00:00Z"}]', 'rows at "": 1 · columns: d (date)'),
        ('[{"n": "1.10"}, {"n": "00501"}]', 'rows at "": 2 · columns: n (number in text)'),
        ('[{"n": "1"}, {"n": "x"}]', 'rows at "": 2 · columns: n (text)'),
        ('[{"n": 1}, {"n": "x"}]', 'rows at "": 2 · columns: n (mixed)'),
        (
            '[{"n": true, "l": [1], "o": {}}]',
            'rows at "": 1 · columns: n (true or false), l (list), o (object)',
        ),
        ('[{"a b": 1, "x]\\n": 2}]', 'rows at "": 1 · columns: "a b" (number), "x]\\n" (number)'),
        ('[{"a\u202e\u2028b": 1}]', 'rows at "": 1 · columns: "a\\u202e\\u2028b" (number)'),
        ('{"total": 3, "name": "x"}', 'values at "/total" (number), "/name" (text)'),
        (
            '{"n": 1, "r": [{"a": 1}]}',
            'rows at "/r": 1 · columns: a (number) · values at "/n" (number)',
        ),
        ("17", 'values at "" (number)'),
        ("[]", "no rows and no values"),
        ("{}", "no rows and no values"),
        ("[1, 2]", "no rows and no values"),
        ('[{"a": 1}, 2]', "no rows and no values"),
        ("[{}]", 'rows at "": 1 · columns: none'),
    ],
)
def test_names_places_columns_and_types(text: str, words: str) -> None:
    assert line(text) == words


def test_names_at_most_twelve_columns_and_three_places() -> None:
    columns = ", ".join(f'"c{n}": {n}' for n in range(30))
    assert line(f"[{{{columns}}}]").endswith("c11 (number), 18 more")
    places = ", ".join(f'"p{n}": [{{"a": 1}}]' for n in range(5))
    said = line(f"{{{places}}}")
    assert '"/p2"' in said and '"/p3"' not in said and said.endswith("2 more places with rows")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers().map(str).map(parse) | st.text(max_size=90),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=90), inner, max_size=20)
    ),
    max_leaves=60,
)


@given(JSON)
def test_is_one_short_line_whatever_the_data_hold(value: Any) -> None:
    said = data_line("t#1", shape_of(value))
    assert len(said) <= MAX_LINE and len(said.splitlines()) == 1
    assert said.startswith("[Data: t#1 · ") and said.endswith("]")


def test_a_large_and_hostile_value_takes_no_time_worth_measuring() -> None:
    wide = parse("{" + ",".join(f'"k{n}": {{"x": [{{"a": {n}}}]}}' for n in range(20_000)) + "}")
    assert len(shape_of(wide).places) <= 500


def test_the_first_rows_are_whole_and_within_the_limit() -> None:
    rows = parse('{"r": [{"n": 1.10, "t": "é"}, {"n": 2, "t": "b"}, {"n": 3, "t": "c"}]}')
    assert first_rows(rows, 1_000).splitlines()[0] == '{"n":1.10,"t":"é"}'
    assert len(first_rows(rows, 1_000).splitlines()) == 3
    assert first_rows(rows, 20) == '{"n":1.10,"t":"é"}'
    assert first_rows(rows, 5) == first_rows(parse('{"a": 1}'), 99) == ""
