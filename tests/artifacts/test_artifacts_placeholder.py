"""The grammar of placeholders, and where they count."""

from __future__ import annotations

import json
from pathlib import Path
from string import ascii_letters, digits
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artificer.artifacts.placeholder import KINDS, find, placeholder, scan

CASES = json.loads(
    (Path(__file__).parents[1] / "cases" / "artifacts" / "placeholders.json").read_text()
)


@pytest.mark.req("placeholder-grammar", "placeholder-code", "placeholder-faults")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:40])
def test_a_case_of_the_grammar(case: dict[str, Any]) -> None:
    found, faults = scan(case["text"])
    assert [item.subject for item in found] == case["found"]
    assert [fault.code for fault in faults] == case["faults"]


@pytest.mark.req("placeholder-grammar")
@settings(deadline=None)
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="{}`\\[]~|")),
    st.sampled_from(KINDS[:5]),
    st.text(f"{ascii_letters}{digits}_-", min_size=1, max_size=64),
)
def test_what_is_written_is_found_at_its_code_points(before: str, kind: Any, name: str) -> None:
    token = placeholder(kind, name)
    text = f"x{before}\n\n{token} y"
    (item,) = find(text)
    assert (item.kind, item.id) == (kind, name)
    assert text[item.start : item.end] == token


@pytest.mark.req("placeholder-faults")
def test_a_file_name_is_at_most_as_long_as_one_may_be() -> None:
    name = "/".join(["f" * 48, "g" * 48, "h" * 40, "l" * 18 + ".md"])
    assert len(name) == 160
    assert [item.id for item in find(placeholder("file", name))] == [name]
    assert [f.code for f in scan(placeholder("file", "l" + name))[1]] == ["malformed"]
    longer = name.replace("l.md", "ll.md")
    assert [f.code for f in scan(placeholder("file", longer))[1]] == ["malformed"]


@pytest.mark.req("placeholder-grammar")
@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="{")))
def test_text_without_braces_has_no_placeholders(text: str) -> None:
    assert scan(text) == ((), ())


@pytest.mark.req("placeholder-code")
@settings(deadline=None)
@given(st.text(alphabet="{}:`~\\|\n -artifcht", max_size=80))
def test_offsets_are_in_order_and_within_the_text(text: str) -> None:
    found, faults = scan(text)
    spans = sorted((item.start or 0, item.end or 0) for item in (*found, *faults))
    flat = [offset for span in spans for offset in span]
    assert flat == sorted(flat)
    assert all(0 <= offset <= len(text) for offset in flat)


@pytest.mark.req("placeholder-linear")
@pytest.mark.parametrize(
    "unit",
    [
        "{",
        "`",
        "}",
        "{{artifact:",
        "{{artifact:chart:`",
        "{{artifact:chart:x}",
        "` `` ``` ",
        "\\`{",
        "{ ",
        "| {{artifact:chart:x}} ",
        "> ",
        "- ",
    ],
)
def test_hostile_text_costs_steps_in_proportion_to_its_length(unit: str) -> None:
    def steps(length: int) -> int:
        import sys

        counted = 0

        def count(frame: Any, event: str, argument: Any) -> Any:
            nonlocal counted
            counted += 1
            return count

        text = unit * (length // len(unit))
        sys.settrace(count)
        try:
            scan(text)
        finally:
            sys.settrace(None)
        return counted

    scan("warm {up}")
    small, large = steps(2_000), steps(8_000)
    assert large <= 5 * small + 1_000


@pytest.mark.req("placeholder-linear")
@pytest.mark.parametrize("unit", ["{", "`", "{{artifact" + " " * 1000, "{{artifact:chart:x}} "])
def test_a_hundred_thousand_characters_are_read(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    found, faults = scan(text)
    assert len(found) + len(faults) <= 100_000 // len(unit)
