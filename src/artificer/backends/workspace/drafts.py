"""Drafts: what a run has written in workspaces and not committed.

A draft is a chain of versions of its own, so that it survives its process and belongs to its run.
One in which nothing differs from the version it began from is none: the run then sees the head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from artificer.backends.workspace.service import Resolved, VersionConflict, Workspaces
from artificer.backends.workspace.spec import tree
from artificer.backends.workspace.spec.edits import Applied, Edit, apply, rebase
from artificer.backends.workspace.spec.version import Version
from artificer.errors import OperatorError

MAX_RIVALS = 100
"""The limit on retries of writing a draft because another call of the run was first."""

MAX_LISTED = 50
"""Paths that a conflict names."""


@dataclass(frozen=True)
class DraftCommit:
    """The version that there is now. ``overwrote`` are paths that others had changed too."""

    version: Version
    overwrote: tuple[str, ...] = ()


class Drafts:
    """The drafts of all runs."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._fetch = workspaces.blobs.get

    def resolve(self, name: str, number: int | None, run: str) -> Resolved | None:
        """The tree of a version; without a number the run's draft, or the head. None: not there."""
        draft = self._of(name, run) if number is None else None
        if draft is None:
            return self._workspaces.resolve(name, number)
        return Resolved(name, draft.base, draft.root, self._workspaces.head(name), draft=True)

    def write(
        self,
        name: str,
        edits: Sequence[Edit],
        contents: Sequence[bytes] = (),
        *,
        run: str,
        key: str,
        base: int | None = None,
    ) -> tuple[Resolved, Applied] | None:
        """Make edits in a run's draft; with problems nothing has changed.

        ``contents`` are the files that the edits put. A draft that is not there yet begins from
        ``base``: the head without it, and 0 begins a workspace. None: that version, or without a
        number the workspace, is not there.

        Raises:
            OperatorError: other calls of the run are always first.
        """
        for _ in range(MAX_RIVALS):
            last = self._workspaces.versions.head(name, run)
            start = self.resolve(name, None if self._of(name, run) else base, run)
            if start is None:
                return None
            applied = apply(self._fetch, start.root, edits)
            if applied.problems or applied.root == start.root:
                return start, applied
            self._workspaces.keep(applied, contents)
            if self._move(name, run, last, start.version, applied.root, key):
                return Resolved(name, start.version, applied.root, start.head, True), applied
        raise OperatorError(f"The draft of {name!r} is written by too many calls at once.")

    def changes(self, name: str, run: str) -> Iterator[tree.TreeChange]:
        """Yield the changes of a run's draft."""
        draft = self._of(name, run)
        if draft is not None:
            yield from tree.diff(self._fetch, self._workspaces.root(name, draft.base), draft.root)

    def commit(
        self, name: str, *, run: str, key: str, expected: int | None, message: str
    ) -> DraftCommit | VersionConflict | None:
        """Make a run's draft the next version; None when it changes nothing.

        ``expected`` is the head that the run knows, without it the version the draft began from.
        When it is a later one, the draft's changes are made on top of that. A call that is
        performed again finds by its ``key`` the version that it has made.
        """
        row = self._workspaces.versions.head(name, run)
        if row is None:
            return None
        last = self._workspaces.load(row[1], name, row[0])
        expected = last.base if expected is None else expected
        outcome = self._made(last, expected, key) or self._commit(last, expected, key, message)
        if isinstance(outcome, DraftCommit):
            self._move(name, run, row, outcome.version.number, outcome.version.root, key)
        return outcome

    def _made(self, draft: Version, expected: int, key: str) -> DraftCommit | None:
        """Return the commit that this call made before a crash, with the draft moved or not."""
        for number in (draft.base, expected + 1):
            version = self._workspaces.version(draft.workspace, number)
            if version is not None and (version.run, version.key) == (draft.run, key):
                return DraftCommit(version)
        return None

    def _commit(
        self, draft: Version, expected: int, key: str, message: str
    ) -> DraftCommit | VersionConflict | None:
        name, base = draft.workspace, self._workspaces.root(draft.workspace, draft.base)
        if draft.root == base:
            return None
        actual = self._workspaces.head(name)
        if expected != actual:
            return self._conflict(draft, base, expected, actual)
        root, both = draft.root, tuple[str, ...]()
        if expected != draft.base:
            onto = self._workspaces.root(name, expected)
            applied, both = rebase(self._fetch, base, draft.root, onto)
            if applied.problems:
                reason = "; ".join(
                    f"{p.pointer} {p.message}" for p in applied.problems[:MAX_LISTED]
                )
                return VersionConflict(expected, actual, both=both[:MAX_LISTED], reason=reason)
            self._workspaces.keep(applied)
            root = applied.root
        outcome = self._workspaces.commit(
            name, root, expected=expected, message=message, run=draft.run, key=key
        )
        if isinstance(outcome, VersionConflict):
            return self._conflict(draft, base, expected, outcome.actual)
        return DraftCommit(outcome, both[:MAX_LISTED])

    def _conflict(self, draft: Version, base: str, expected: int, actual: int) -> VersionConflict:
        now = self._workspaces.root(draft.workspace, actual)
        theirs = [c.path for c in islice(tree.diff(self._fetch, base, now), 10 * MAX_LISTED)]
        mine = {c.path for c in tree.diff(self._fetch, base, draft.root)}
        both = tuple(path for path in theirs if path in mine)
        return VersionConflict(expected, actual, tuple(theirs[:MAX_LISTED]), both[:MAX_LISTED])

    def _of(self, name: str, run: str) -> Version | None:
        """A run's draft, if it changes anything."""
        row = self._workspaces.versions.head(name, run)
        if row is None:
            return None
        draft = self._workspaces.load(row[1], name, row[0])
        return None if draft.root == self._workspaces.root(name, draft.base) else draft

    def _move(
        self, name: str, run: str, last: tuple[int, str] | None, base: int, root: str, key: str
    ) -> bool:
        number, before = last or (0, None)
        draft = Version(
            workspace=name,
            number=number + 1,
            root=root,
            before=before,
            base=base,
            run=run,
            key=key,
            at=self._workspaces.now(),
        )
        digest = self._workspaces.blobs.put(draft.canonical())
        return self._workspaces.versions.add(name, draft.number, digest, run)
