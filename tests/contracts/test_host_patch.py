"""Unified diffs: those that ``difflib`` writes are read back, and nothing else is guessed."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.backends.host.spec.patch import PatchError, apply, parse

LINES = st.lists(st.sampled_from(["a", "b", "", " x", "-y", "+z", "@@", "--- a"]), max_size=12)


def diff_of(old: str, new: str, name: str = "f") -> str:
    """A unified diff as diff(1) writes it."""
    written = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    end = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + end for line in written)


@pytest.mark.req("host-patch")
@given(LINES, LINES, st.booleans(), st.booleans())
def test_what_diff_writes_is_applied(old: list[str], new: list[str], a: bool, b: bool) -> None:
    before = "\n".join(old) + "\n" * a
    after = "\n".join(new) + "\n" * b
    if before == after:
        return
    (file,) = parse(diff_of(before, after))
    done = apply(file, before)
    assert (done.text, done.problems) == (after, ())


@pytest.mark.req("host-patch")
def test_files_are_made_and_removed() -> None:
    first = "--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    second = "--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    made, removed = parse(first + second)
    assert (made.path, apply(made, None).text) == ("new", "a\nb\n")
    assert apply(made, "there").problems[0].message == "exists already, and the patch makes it"
    assert apply(removed, "x\n").text is None and not apply(removed, "x\n").problems
    assert apply(removed, "x\ny\n").problems
    assert apply(removed, None).problems[0].message == "is not there"


@pytest.mark.req("host-patch")
def test_a_hunk_that_has_moved_is_found_and_told() -> None:
    (file,) = parse("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n")
    done = apply(file, "zero\none\ntwo\n")
    assert done.text == "zero\none\nTWO\n"
    assert done.moved == ("f, hunk 1: at line 2, not 1",)


@pytest.mark.req("host-patch")
def test_lines_that_do_not_agree_are_told_all_of_them() -> None:
    (file,) = parse("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n@@ -3 +3 @@\n-c\n+d\n")
    problems = apply(file, "x\n\ny\n").problems
    assert [p.pointer for p in problems] == ["f, hunk 1", "f, hunk 2"]
    assert "wants 'a\\n' at line 1, where there is 'x\\n'" in problems[0].message
    several = apply(file, "x\na\na\n\nc\n").problems
    assert "several places (lines 2, 3)" in several[0].message


@pytest.mark.req("host-patch")
@given(st.lists(st.sampled_from("ab"), max_size=12), st.lists(st.sampled_from("ab"), min_size=1))
def test_lines_are_found_wherever_they_stand(lines: list[str], old: list[str]) -> None:
    marked = "".join(f"-{line}\n" for line in old)
    (file,) = parse(f"--- a/f\n+++ b/f\n@@ -99,{len(old)} +99,0 @@\n{marked}")
    found = [n for n in range(len(lines)) if lines[n : n + len(old)] == old]
    done = apply(file, "".join(f"{line}\n" for line in lines))
    if len(found) == 1:
        assert done.moved == (f"f, hunk 1: at line {found[0] + 1}, not 99",)
    elif found:
        listed = ", ".join(str(n + 1) for n in found[:10])
        assert f"several places (lines {listed})" in done.problems[0].message
    else:
        assert "after the file's end" in done.problems[0].message


@pytest.mark.req("host-patch")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "holds no file"),
        ("hello", "is no line of a diff"),
        ("@@ -1 +1 @@\n-a\n+b\n", "before any ---"),
        ("--- a/f\n", "must follow"),
        ("--- a/f\n+++ b/f\n", "has no hunks"),
        ("--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", "renamed"),
        ("--- /dev/null\n+++ /dev/null\n", "both names"),
        ("--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n-a\n+b\n", "shorter than its header"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n*a\n+b\n", "begins with no mark"),
        ("--- a/f\n+++ b/f\n@@ one @@\n-a\n", "no hunk's header"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n" * 2, "is there twice"),
        ("rename from a\nrename to b\n", "cannot be applied"),
    ],
)
def test_what_is_no_diff_is_told_with_its_line(text: str, why: str) -> None:
    with pytest.raises(PatchError, match=why):
        parse(text)


@pytest.mark.req("host-patch")
@given(st.text("-+@ \\\nab01,/d", max_size=80))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        files = parse("--- a/f\n+++ b/f\n" + text)
    except PatchError:
        return
    for file in files:
        apply(file, "a\nb\n")


@pytest.mark.req("host-patch")
def test_a_hostile_text_costs_little() -> None:
    body = "\n".join([" a"] * 20_000)
    (file,) = parse(f"--- a/f\n+++ b/f\n@@ -1,20001 +1,20001 @@\n{body}\n-b\n+c\n")
    assert apply(file, "a\n" * 100_000).problems
