"""Workspaces as they are kept: named trees, version by version, each version naming the one before.

All methods block; call them from a thread in an event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from artificer.backends.workspace.spec import tree
from artificer.backends.workspace.spec.edits import Applied
from artificer.backends.workspace.spec.version import Version, read_version
from artificer.errors import NotFoundError, TamperedError
from artificer.ports import BlobStore, Versions


class Resolved(Struct, frozen=True):
    """A tree that someone named: version 0 is the empty one before the first."""

    workspace: str
    version: int
    root: str
    head: int
    draft: bool = False


class VersionConflict(Struct, frozen=True):
    """Nothing was committed: the head is not the one that was expected, or the files do not fit.

    ``changed`` are paths that others have changed since, ``both`` those of them that the draft
    changes too; ``reason`` is set where the number was right and the files cannot be put together.
    """

    expected: int
    actual: int
    changed: tuple[str, ...] = ()
    both: tuple[str, ...] = ()
    reason: str = ""


class Workspaces:
    """The workspaces of a world. ``now`` gives milliseconds since 1970."""

    def __init__(self, blobs: BlobStore, versions: Versions, now: Callable[[], int]) -> None:
        self.blobs = blobs
        self.versions = versions
        self.now = now

    def names(self) -> list[str]:
        """Every workspace, in order."""
        return self.versions.names()

    def head(self, name: str) -> int:
        """The newest version's number; 0 for a workspace that is not there."""
        found = self.versions.head(name)
        return found[0] if found else 0

    def version(self, name: str, number: int) -> Version | None:
        """A version, or None for one that is not there. Raises TamperedError."""
        digest = self.versions.get(name, number)
        return None if digest is None else self.load(digest, name, number)

    def root(self, name: str, number: int) -> str:
        """The root of a version that is known to be there. Raises TamperedError."""
        if number == 0:
            return tree.EMPTY
        version = self.version(name, number)
        if version is None:
            raise TamperedError(f"Version {number} of {name!r} is gone.")
        return version.root

    def resolve(self, name: str, number: int | None = None) -> Resolved | None:
        """The tree of a version, or of the head; None if there is none."""
        head = self.head(name)
        number = (head or None) if number is None else number
        if number is None:
            return None
        if number == 0:
            return Resolved(name, 0, tree.EMPTY, head)
        version = self.version(name, number)
        return Resolved(name, number, version.root, head) if version else None

    def must_resolve(self, name: str, number: int | None = None) -> Resolved:
        """The tree of a version, or of the head. Raises NotFoundError."""
        found = self.resolve(name, number)
        if found is None:
            what = f"Version {number} of workspace" if self.head(name) else "Workspace"
            raise NotFoundError(f"{what} {name!r} does not exist.", hint=self._known())
        return found

    def log(self, name: str) -> Iterator[Version]:
        """The versions of a workspace, newest first, each named by the one after it.

        Raises:
            NotFoundError: the workspace does not exist.
            TamperedError: the chain is broken.
        """
        found = self.versions.head(name)
        if found is None:
            raise NotFoundError(f"Workspace {name!r} does not exist.", hint=self._known())
        number, digest = found
        while number:
            if self.versions.get(name, number) != digest:
                raise TamperedError(f"The versions of {name!r} do not form a chain at {number}.")
            version = self.load(digest, name, number)
            yield version
            number, digest = number - 1, version.before or ""

    def commit(
        self,
        name: str,
        root: str,
        *,
        expected: int,
        message: str = "",
        run: str = "",
        key: str = "",
    ) -> Version | VersionConflict:
        """Make a tree the version after ``expected``, if that is the head: compare and swap."""
        before = self.versions.get(name, expected) if expected else None
        if before is None and expected:
            return VersionConflict(expected, self.head(name))
        version = Version(
            workspace=name,
            number=expected + 1,
            root=root,
            before=before,
            run=run,
            key=key,
            message=message,
            at=self.now(),
        )
        digest = self.blobs.put(version.canonical())
        if self.versions.add(name, version.number, digest):
            return version
        return VersionConflict(expected, self.head(name))

    def keep(self, applied: Applied, contents: Sequence[bytes] = ()) -> None:
        """Store what edits have made, with the files that they put."""
        for data in (*contents, *applied.nodes):
            self.blobs.put(data)
        if applied.root == tree.EMPTY:
            self.blobs.put(tree.EMPTY_NODE)

    def load(self, digest: str, name: str, number: int) -> Version:
        """Read a version's blob. Raises TamperedError for one that is not that version."""
        try:
            return read_version(self.blobs.get(digest), name, number)
        except NotFoundError as error:
            raise TamperedError(f"Version {number} of {name!r} is gone: {error}") from error

    def _known(self) -> str:
        return f"Workspaces: {', '.join(self.names()) or 'none yet'}."
