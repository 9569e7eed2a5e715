"""Conformance tests for run indexes, to run with your own.

Subclass `RunIndexSuite` in a test module and give it a pytest fixture ``run_index`` that yields a
fresh one.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from artificer.ports import IndexedRun, Reached, RunIndex, RunQuery
from artificer.values.words import terms_of, words_of


def _run(name: str, prompt: str, **facts: Any) -> IndexedRun:
    row = IndexedRun(name, 3, f"hash of {name}", "completed", kind="chat", model="one/small-1")
    return replace(row, prompt=prompt, words=words_of(prompt), **facts)


RUNS = (
    _run("a", "Where is the red Lamp?", begun=100, turns=2, tokens=9, cost_micros=7),
    _run("a.look-01", "Look", begun=110, parent="a", agent="look"),
    _run("b", "<b>lamp</b> is red", begun=200, status="waiting", waiting=True, questions=2),
    _run("c.d", "Of nobody: Ärger", begun=300, kind="deliver", model="two/large"),
)
END = Reached(9, "nine")


def _names(index: RunIndex, limit: int = 10, beyond: str | None = None, **query: Any) -> str:
    wanted = RunQuery(terms_of(query.pop("text", "")), **query)
    return " ".join(run.run for run in index.find(wanted, beyond, limit))


class RunIndexSuite:
    """The behavior of the `RunIndex` port. Give it a fixture ``run_index``."""

    def test_an_empty_one_finds_nothing(self, run_index: RunIndex) -> None:
        """It starts at the beginning; forgetting and clearing change nothing."""
        run_index.clear()
        run_index.forget("a")
        assert run_index.reached() == Reached()
        assert _names(run_index) == _names(run_index, text="lamp") == ""

    def test_runs_are_added_where_it_has_come(self, run_index: RunIndex) -> None:
        """If two processes add the same rows, only one succeeds."""
        assert run_index.add(0, RUNS[:1], Reached(2, "two"))
        assert not run_index.add(0, RUNS, END)
        assert run_index.reached() == Reached(2, "two")
        assert run_index.add(2, RUNS[1:], END)
        assert _names(run_index) == "c.d b a.look-01 a"

    def test_runs_are_counted_by_how_they_stand(self, run_index: RunIndex) -> None:
        """Each run is counted once, under its current status."""
        assert run_index.counts() == {}
        run_index.add(0, RUNS, END)
        assert run_index.counts() == {"completed": 3, "waiting": 1}
        run_index.add(9, [replace(RUNS[2], status="completed")], Reached(10, "ten"))
        assert run_index.counts() == {"completed": 4}

    def test_a_row_comes_back_as_it_was(self, run_index: RunIndex) -> None:
        """All fields except the words, which are only for searching."""
        run_index.add(0, RUNS, END)
        found = run_index.find(RunQuery(oldest_first=True), None, 10)
        assert found == [replace(run, words=()) for run in RUNS]

    def test_runs_that_no_worker_has_begun(self, run_index: RunIndex) -> None:
        """They are open and have only their first record."""
        begun = [replace(RUNS[0], run=f"o{n}", seq=n, status="open") for n in (1, 2, 3)]
        assert run_index.add(0, [*begun, *RUNS], END)
        assert _names(run_index, queued=True, oldest_first=True) == "o1 o2"

    def test_a_run_that_goes_on_keeps_its_place(self, run_index: RunIndex) -> None:
        """The row of a run that continues is replaced in its place."""
        run_index.add(0, RUNS, END)
        changed = replace(RUNS[0], seq=8, status="failed", turns=5)
        assert run_index.add(9, [changed], Reached(12, "twelve"))
        assert _names(run_index) == "c.d b a.look-01 a"
        assert run_index.find(RunQuery(status="failed"), None, 9) == [replace(changed, words=())]

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ({"text": "LAMP"}, "b a"),
            ({"text": '"red lamp"'}, "a"),
            ({"text": "la*", "status": "waiting"}, "b"),
            ({"text": "arger"}, "c.d"),
            ({"text": "lamp OR NEAR(red)"}, ""),
            ({"status": "waiting"}, "b"),
            ({"status": "' OR 1=1 --"}, ""),
            ({"waiting": True}, "b"),
            ({"kind": "deliver"}, "c.d"),
            ({"model": "small"}, "b a.look-01 a"),
            ({"model": "%"}, ""),
            ({"agent": "look"}, "a.look-01"),
            ({"parent": "a"}, "a.look-01"),
            ({"since": 110}, "c.d b a.look-01"),
            ({"until": 200}, "a.look-01 a"),
            ({"since": 110, "until": 300, "builds": False}, "b"),
            ({"builds": False}, "c.d b a"),
            ({"oldest_first": True, "text": "lamp"}, "a b"),
            ({"queued": True}, ""),
        ],
    )
    def test_filters(self, run_index: RunIndex, query: dict[str, Any], found: str) -> None:
        """Filters work alone and together. A run named after another one belongs to a build."""
        run_index.add(0, RUNS, END)
        assert _names(run_index, **query) == found

    def test_pages(self, run_index: RunIndex) -> None:
        """The next page comes after the last run of this one, in either order."""
        run_index.add(0, RUNS, END)
        assert _names(run_index, 2) == "c.d b"
        assert _names(run_index, 2, "b") == "a.look-01 a"
        assert _names(run_index, 2, "a") == _names(run_index, 2, "nowhere") == ""
        assert _names(run_index, 2, "a", oldest_first=True) == "a.look-01 b"
        assert _names(run_index, 1, "b", text="lamp") == "a"

    def test_what_is_forgotten_is_not_found(self, run_index: RunIndex) -> None:
        """Its place remains, so a page that begins after it still works."""
        run_index.add(0, RUNS, END)
        run_index.forget("b")
        assert _names(run_index, text="lamp") == "a"
        assert _names(run_index, waiting=True) == ""
        assert run_index.find(RunQuery(), "c.d", 1) == [IndexedRun("b", 0, "", "pruned")]
        assert run_index.add(9, [replace(RUNS[2], words=(), prompt="")], Reached(10, "ten"))
        assert _names(run_index, 1, "b") == "a.look-01"

    def test_clearing_forgets_everything(self, run_index: RunIndex) -> None:
        """A cleared index is empty and can be filled again."""
        run_index.add(0, RUNS, END)
        run_index.clear()
        assert (run_index.reached(), _names(run_index)) == (Reached(), "")
        assert run_index.add(0, RUNS[:1], Reached(2, "other"))
        assert _names(run_index) == "a"
