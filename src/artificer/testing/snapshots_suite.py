"""Conformance tests for snapshots, to run with your own.

Subclass `SnapshotsSuite` in a test module and give it a pytest fixture ``snapshots`` that yields
fresh ones.
"""

from __future__ import annotations

from artificer.ports import Snapshots


class SnapshotsSuite:
    """The behavior of the `Snapshots` port. Subclass it and give it a fixture ``snapshots``."""

    def test_an_unknown_run_has_none(self, snapshots: Snapshots) -> None:
        """An unknown run has no snapshot, and dropping it changes nothing."""
        assert snapshots.get("a") is None
        snapshots.drop("a")
        assert snapshots.get("a") is None

    def test_a_state_replaces_the_last_one_and_chunks_are_added(self, snapshots: Snapshots) -> None:
        """Chunks are returned in the order of their first messages; empty ones are not kept."""
        snapshots.put("a", b"one", 0, b"first")
        snapshots.put("a", b"two", 10, b"third")
        snapshots.put("a", b"three", 9, b"second")
        snapshots.put("a", b"four", 20, b"")
        assert snapshots.get("a") == (b"four", [b"first", b"second", b"third"])

    def test_beginning_again_forgets_the_chunks(self, snapshots: Snapshots) -> None:
        """A chunk from message 0 on replaces all of them."""
        snapshots.put("a", b"one", 0, b"first")
        snapshots.put("a", b"two", 5, b"second")
        snapshots.put("a", b"three", 0, b"again")
        assert snapshots.get("a") == (b"three", [b"again"])

    def test_each_run_has_its_own(self, snapshots: Snapshots) -> None:
        """Each run has its own snapshot; dropping one leaves the others."""
        snapshots.put("a", b"1", 0, b"x")
        snapshots.put("b", b"2", 0, b"y")
        snapshots.drop("a")
        assert snapshots.get("a") is None
        assert snapshots.get("b") == (b"2", [b"y"])
