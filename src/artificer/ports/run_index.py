"""The port to the index of a world's runs, with each one's status, so lists need not read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from artificer.ports.search_index import Reached
from artificer.values.words import Term, matches

BEGINNING = 2
"""The number of records at a run's start: the prompt and the first intent. Resuming adds one."""


class IndexedRun(Struct, frozen=True, gc=False):
    """A run in its state at record ``seq``, whose hash is ``hash``.

    ``begun`` and ``changed`` are milliseconds since 1970-01-01 UTC. ``prompt`` is the beginning of
    its prompt, ``words`` are words of a longer part. ``questions`` counts the decisions that it
    itself needs from a person; ``waiting`` says that it, or a run that it waits for, needs one.
    ``parent`` is the run that started it, ``agent`` the name under which that run called its agent.
    ``turns`` and ``tokens`` are None if they are unknown. An index does not store ``queued``: the
    run was submitted, and no worker has started it.
    """

    run: str
    seq: int
    hash: str
    status: str
    begun: int = 0
    changed: int = 0
    kind: str = ""
    model: str = ""
    agent: str = ""
    parent: str = ""
    prompt: str = ""
    words: Sequence[str] = ()
    waiting: bool = False
    questions: int = 0
    turns: int | None = None
    tokens: int | None = None
    cost_micros: int | None = None
    queued: bool = False


class RunQuery(Struct, frozen=True):
    """A filter for lists of runs.

    ``terms`` are words of the prompt; ``model`` and ``agent`` are parts of the names. ``queued``
    selects open runs that have only just started; an index does not know which of them were
    submitted. ``since`` and ``until`` limit the start time. Without ``builds``, runs that another
    run started are left out if that run's name is a prefix of theirs.
    """

    terms: tuple[Term, ...] = ()
    status: str | None = None
    kind: str | None = None
    model: str = ""
    agent: str = ""
    parent: str = ""
    waiting: bool = False
    queued: bool = False
    since: int = 0
    until: int | None = None
    builds: bool = True
    oldest_first: bool = False

    def wants(self, run: IndexedRun) -> bool:
        """Whether a run matches, as far as the run itself shows it; ``builds`` is ignored."""
        return (
            self.status in (None, run.status)
            and self.kind in (None, run.kind)
            and self.model in run.model
            and self.agent in run.agent
            and self.parent in ("", run.parent)
            and (run.waiting or not self.waiting)
            and (not self.queued or (run.status == "open" and run.seq <= BEGINNING))
            and run.begun >= self.since
            and (self.until is None or run.begun < self.until)
            and matches(self.terms, run.words)
        )


class RunIndex(Protocol):
    """A cache of the journal: the status of each run. It may be lost at any time.

    It may be used from any thread. A row is shown only if the journal's last record of the run is
    still the one that it names. Every method raises OperatorError if the index cannot be used.
    """

    def reached(self) -> Reached:
        """Return the position that the index has reached; the start for an empty one."""

    def add(self, after: int, runs: Sequence[IndexedRun], upto: Reached) -> bool:
        """Add the runs that have changed between two positions, or put them in place of what is
        there; False, and nothing is added, unless it is at ``after``, or where nothing may be
        written."""

    def find(self, query: RunQuery, beyond: str | None, limit: int) -> list[IndexedRun]:
        """Return the first ``limit`` runs, newest first, or with ``oldest_first`` oldest first.

        With ``beyond``, only runs after that run in this order; none if it does not exist.
        The returned runs have no ``words``.
        """

    def counts(self) -> Mapping[str, int]:
        """Return the number of runs by ``status``."""

    def forget(self, run: str) -> None:
        """Forget a run's contents, as after it was pruned; its place remains."""

    def clear(self) -> None:
        """Forget everything."""


@runtime_checkable
class HasRunIndex(Protocol):
    """A storage that keeps an index of its runs."""

    @property
    def run_index(self) -> RunIndex:
        """The index of runs."""


def above(run: str) -> str:
    """Return the name of the run that started this one, from its own name; otherwise nothing."""
    return run.rpartition(".")[0]
