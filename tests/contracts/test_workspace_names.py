"""Names and paths of workspaces, and the way of odd file names there and back."""

from __future__ import annotations

from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.contracts.workspace_names import (
    file_name_of,
    name_fault,
    path_fault,
    segment_of,
    within,
)

FILE_NAMES = st.binary(min_size=1, max_size=40).filter(
    lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")
)
SEGMENTS = st.text(f"{ascii_letters}{digits}._~-", min_size=1, max_size=40).filter(
    lambda s: s not in (".", "..")
)


@pytest.mark.req("workspace-names")
@pytest.mark.parametrize("name", ["notes", "a", "A.b_c~d-1", "...", "~", "x" * 64])
def test_names_that_may_be(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.req("workspace-names")
@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "é", "a\n", "x" * 65, "*"])
def test_names_that_may_not(name: str) -> None:
    assert name_fault(name)


@pytest.mark.req("workspace-names")
@pytest.mark.parametrize("path", ["a", "a/b.c", ".git/config", "a/~b/-"])
def test_paths_that_may_be(path: str) -> None:
    assert path_fault(path) is None


@pytest.mark.req("workspace-names")
@pytest.mark.parametrize(
    "path",
    [
        *("", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b"),
        *("a b", "a\\b", "a\0", "é", "a\n"),
        *("/".join("a" * 65), "x" * 513, "/".join(["x" * 500] * 5)),
    ],
)
def test_paths_that_may_not(path: str) -> None:
    assert path_fault(path)


@pytest.mark.req("workspace-grants")
def test_a_prefix_ends_at_a_slash() -> None:
    assert within("docs", "docs") and within("docs/a", "docs") and within("docs/a", "")
    assert not within("docs2", "docs") and not within("doc", "docs") and not within("", "docs")


@pytest.mark.req("workspace-file-names")
@given(FILE_NAMES)
def test_every_file_name_has_a_segment_and_comes_back(name: bytes) -> None:
    segment = segment_of(name)
    assert path_fault(segment) is None
    assert file_name_of(segment) == name


@pytest.mark.req("workspace-file-names")
@given(SEGMENTS)
def test_every_segment_has_a_file_name_and_comes_back(segment: str) -> None:
    assert segment_of(file_name_of(segment)) == segment


@pytest.mark.req("workspace-file-names")
@given(SEGMENTS | st.binary(min_size=1, max_size=20).map(lambda b: f"~{b.hex()}"))
def test_no_segment_leads_out_of_its_folder(segment: str) -> None:
    name = file_name_of(segment)
    assert b"/" not in name and b"\0" not in name and name not in (b"", b".", b"..")


@pytest.mark.req("workspace-file-names")
@pytest.mark.parametrize(
    ("name", "segment"),
    [
        (b"plain.txt", "plain.txt"),
        (b"two words", "~74776f20776f726473"),
        (b"\xff", "~ff"),
        (b"~ff", "~7e6666"),
        (b"~x", "~x"),
    ],
)
def test_odd_names_become_hex(name: bytes, segment: str) -> None:
    assert segment_of(name) == segment
