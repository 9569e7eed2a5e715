"""The bijection between our tool names and the providers'."""

from __future__ import annotations

import re
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.contracts.names import SafeNames

pytestmark = pytest.mark.req("safe-names-bijective")

WIRE = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
tool_names = st.one_of(
    st.text("ab._-", min_size=1, max_size=4),
    st.text(f"{ascii_letters}{digits}_.-", min_size=1, max_size=64),
)
toolsets = st.lists(tool_names, unique=True, max_size=12)


@given(toolsets)
def test_every_name_goes_out_safe_and_distinct_and_comes_back(names: list[str]) -> None:
    safe = SafeNames(names)
    wire = [safe.to_wire(name) for name in names]
    assert all(WIRE.match(name) for name in wire)
    assert len(set(wire)) == len(names)
    assert [safe.from_wire(name) for name in wire] == names


@given(toolsets)
def test_order_plays_no_part(names: list[str]) -> None:
    forwards, backwards = SafeNames(names), SafeNames(reversed(names))
    assert [forwards.to_wire(n) for n in names] == [backwards.to_wire(n) for n in names]


@given(toolsets, st.text(max_size=80))
def test_a_name_outside_the_set_is_safe_and_no_tools(names: list[str], other: str) -> None:
    safe = SafeNames(names)
    wire = safe.to_wire(other)
    assert WIRE.match(wire)
    if other not in names:
        assert safe.from_wire(wire) not in names
        assert safe.from_wire(other) == other or safe.from_wire(other) in names


@given(toolsets, tool_names)
def test_adding_a_tool_changes_no_safe_name(names: list[str], other: str) -> None:
    before, after = SafeNames(names), SafeNames([*names, other])
    assert all(after.to_wire(n) == before.to_wire(n) == n for n in names if "." not in n)


def test_names_stay_readable_until_they_collide() -> None:
    assert SafeNames(["fs.read", "add"]).to_wire("fs.read") == "fs_read"
    crowded = SafeNames(["fs.read", "fs_read", "fs..x", "fs._x"])
    assert crowded.to_wire("fs_read") == "fs_read"
    assert crowded.to_wire("fs.read").startswith("fs_read_")
    assert crowded.to_wire("fs..x") != crowded.to_wire("fs._x")
