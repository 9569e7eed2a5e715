"""Conformance tests for `Versions`, to run with your own.

Subclass `VersionsSuite` in a test module and give it a pytest fixture ``versions`` that yields a
fresh, empty one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from artificer.ports import Versions
from artificer.values.canon import digest_of

A, B, C = (digest_of(name) for name in (b"a", b"b", b"c"))


class VersionsSuite:
    """The behavior of the `Versions` port. Subclass it and give it a fixture ``versions``."""

    def test_nothing_is_there_at_first(self, versions: Versions) -> None:
        """An unknown workspace has no head, no version and no name."""
        assert versions.head("w") is None
        assert versions.get("w", 1) is None
        assert versions.names() == []

    def test_the_first_version_is_number_one(self, versions: Versions) -> None:
        """A workspace starts with version 1 and no other number."""
        for number in (0, 2, -1):
            assert not versions.add("w", number, A)
        assert versions.names() == []
        assert versions.add("w", 1, A)
        assert versions.head("w") == (1, A)

    def test_the_head_moves_one_by_one(self, versions: Versions) -> None:
        """Only the next number is accepted, and every version stays."""
        assert versions.add("w", 1, A)
        assert versions.add("w", 2, B)
        for number in (1, 2, 4):
            assert not versions.add("w", number, C)
        assert versions.head("w") == (2, B)
        assert [versions.get("w", number) for number in (0, 1, 2, 3)] == [None, A, B, None]

    def test_the_same_blob_may_be_another_version(self, versions: Versions) -> None:
        """Versions are numbers, not contents."""
        assert versions.add("w", 1, A)
        assert versions.add("w", 2, A)
        assert versions.head("w") == (2, A)

    def test_drafts_are_apart(self, versions: Versions) -> None:
        """A run's draft has its own versions, separate from the workspace's and other runs'."""
        assert versions.add("w", 1, A)
        assert versions.add("w", 1, B, "run-1")
        assert versions.add("v", 1, C, "run-2")
        assert versions.head("w") == (1, A)
        assert versions.head("w", "run-1") == (1, B)
        assert versions.head("w", "run-2") is None
        assert versions.get("w", 1, "run-1") == B
        assert versions.names() == ["w"]
        assert versions.names("run-2") == ["v"]

    def test_names_are_in_order(self, versions: Versions) -> None:
        """Names are sorted, not listed by creation."""
        for name in ("b", "a-b", "a", "A"):
            assert versions.add(name, 1, A)
        assert versions.names() == ["A", "a", "a-b", "b"]

    def test_of_many_writers_one_wins_each_number(self, versions: Versions) -> None:
        """Compare and swap works across threads: no version is lost or duplicated."""

        def climb(rival: int) -> int:
            won = 0
            while won < 5:
                head = versions.head("w")
                won += versions.add("w", (head[0] if head else 0) + 1, digest_of(b"%d" % rival))
            return won

        with ThreadPoolExecutor(4) as threads:
            assert sum(threads.map(climb, range(4))) == 20
        head = versions.head("w")
        assert head is not None and head[0] == 20
        made = [versions.get("w", number) for number in range(1, 21)]
        assert all(made.count(digest_of(b"%d" % rival)) == 5 for rival in range(4))
