"""The seam to the index of a world's runs: how each one stands, so that lists need not read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from artificer.ports.search_index import Reached
from artificer.values.words import Term, matches

BEGINNING = 2
"""Records of a beginning: the prompt, and what is to be done first. Resuming adds one."""


class IndexedRun(Struct, frozen=True, gc=False):
    """A run as it stood at its record ``seq``, whose hash is ``hash``.

    ``begun`` and ``changed`` are milliseconds since 1970-01-01 UTC. ``prompt`` is the beginning of
    its prompt, ``words`` those of more of it. ``questions`` are the decisions of a person that it
    waits for, itself; ``waiting`` says that it waits for one, or for a run that does. ``parent`` is
    the run that started it, ``agent`` the name by which that one called its agent. ``turns`` and
    ``tokens`` are None where they are not known. An index does not keep ``queued``: it was
    submitted, and no worker has begun it.
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
    """The runs that a list wants.

    ``terms`` are words of the prompt; ``model`` and ``agent`` are parts of the names. ``queued``
    are open runs that have no more than their beginning: which of these were submitted, an index
    does not say. ``since`` and ``until`` are moments between which it has begun. Without
    ``builds``, no run that another one started whose name begins its own.
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
        """Whether it wants a run, as far as the run itself says it; ``builds`` is not looked at."""
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
    """A cache of the journal: how each run stands. It may be lost at any time.

    Whatever uses it may be in any thread. A row is shown only where the journal still ends in the
    record that it names. Every method raises OperatorError when the index cannot be used.
    """

    def reached(self) -> Reached:
        """Return how far the index has come; where it begins for an empty one."""

    def add(self, after: int, runs: Sequence[IndexedRun], upto: Reached) -> bool:
        """Add the runs that have changed between two positions, or put them in place of what is
        there; False, and nothing is added, unless it is at ``after``, or where nothing may be
        written."""

    def find(self, query: RunQuery, beyond: str | None, limit: int) -> list[IndexedRun]:
        """Return the first ``limit`` runs, newest first, or with ``oldest_first`` the other way.

        With ``beyond``, those that come after that run in this order; none where it is not there.
        What it returns has no ``words``.
        """

    def counts(self) -> Mapping[str, int]:
        """Return how many runs stand in which way, by the words of ``status``."""

    def forget(self, run: str) -> None:
        """Forget what is known of a run, as after it was pruned; its place remains."""

    def clear(self) -> None:
        """Forget everything."""


@runtime_checkable
class HasRunIndex(Protocol):
    """A storage that keeps an index of its runs."""

    @property
    def run_index(self) -> RunIndex:
        """How each run stands."""


def above(run: str) -> str:
    """Return the name that begins a run's, if another run started it; nothing for any other."""
    return run.rpartition(".")[0]
