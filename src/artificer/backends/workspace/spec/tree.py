"""Trees of files as values: nodes by digest, each the canonical JSON of one directory.

A node names its entries, sorted; a file by the digest of its bytes, a directory by that of its
node. Equal trees have equal roots, and nothing that was written ever changes. Nothing here stores
or reads: nodes come from ``fetch`` and go back to the caller as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

from msgspec import Struct

from artificer.contracts.workspace_names import path_fault
from artificer.errors import InvalidValueError, TamperedError
from artificer.values.base import CheckedValue, Digest, Meta, Value, field
from artificer.values.canon import digest_of

FileMode = Literal["0644", "0755"]
Fetch = Callable[[str], bytes]
"""Returns a blob's bytes by its digest."""

MAX_ENTRIES = 10_000
"""Entries of one directory."""


class TreeFile(Value, tag_field="kind"):
    """A file: its bytes by their digest."""

    kind: ClassVar[Literal["file"]] = "file"
    digest: Digest
    size: Annotated[int, Meta(ge=0)]
    mode: FileMode = "0644"


class Directory(Value, tag_field="kind"):
    """A directory: its node by its digest."""

    kind: ClassVar[Literal["dir"]] = "dir"
    digest: Digest


TreeEntry = TreeFile | Directory


class TreeNode(CheckedValue):
    """One directory: what it holds, by name, in order."""

    entries: Annotated[dict[str, TreeEntry], Meta(max_length=MAX_ENTRIES)] = field(
        default_factory=dict
    )

    def check(self) -> None:
        """Refuse entries that are out of order, and names that are not one segment of a path."""
        if list(self.entries) != sorted(self.entries):
            raise self.invalid("/entries", "is out of order")
        if any("/" in name or path_fault(name) for name in self.entries):
            raise self.invalid("/entries", "has a name that is not one segment of a path")


EMPTY_NODE = TreeNode().canonical()
EMPTY = digest_of(EMPTY_NODE)
"""The root of a tree without files."""


@lru_cache(maxsize=256)
def _parsed(data: bytes) -> TreeNode:
    return TreeNode.read(data)


def load(fetch: Fetch, digest: str) -> TreeNode:
    """Read a node. Raises TamperedError for a blob that is none."""
    if digest == EMPTY:
        return TreeNode()
    try:
        return _parsed(fetch(digest))
    except InvalidValueError as error:
        raise TamperedError(f"The blob {digest} is not a directory of a workspace.") from error


def find(fetch: Fetch, root: str, path: str) -> TreeFile | Directory | None:
    """Return the node at a path; the root itself at the empty one."""
    entry: TreeFile | Directory | None = Directory(digest=root)
    for part in path.split("/") if path else ():
        if not isinstance(entry, Directory):
            return None
        entry = load(fetch, entry.digest).entries.get(part)
    return entry


def walk(
    fetch: Fetch, root: str, path: str = "", *, deep: bool = True, after: str = ""
) -> Iterator[tuple[str, TreeFile | Directory]]:
    """Yield the nodes below a directory, in order of path segments: a directory, then its contents.

    ``after`` is a path: only nodes after it are yielded. A path that is not a directory has none.
    """
    start = find(fetch, root, path)
    if isinstance(start, Directory):
        parts = tuple(path.split("/")) if path else ()
        yield from _walk(fetch, start, parts, deep, tuple(after.split("/")) if after else ())


def _walk(
    fetch: Fetch, directory: Directory, parts: tuple[str, ...], deep: bool, after: tuple[str, ...]
) -> Iterator[tuple[str, TreeFile | Directory]]:
    for name, entry in load(fetch, directory.digest).entries.items():
        here = (*parts, name)
        if here > after:
            yield "/".join(here), entry
        if deep and isinstance(entry, Directory) and (here > after or after[: len(here)] == here):
            yield from _walk(fetch, entry, here, deep, after)


class TreeChange(Struct, frozen=True):
    """A difference at one path. A directory appears only where it is empty."""

    path: str
    before: TreeFile | Directory | None
    after: TreeFile | Directory | None

    @property
    def word(self) -> Literal["added", "removed", "changed"]:
        """The kind of change, as a word."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


def diff(fetch: Fetch, before: str, after: str) -> Iterator[TreeChange]:
    """Tell two trees apart, in order of path segments. Parts they share are not read."""
    yield from _diff(fetch, Directory(digest=before), Directory(digest=after), ())


def _diff(
    fetch: Fetch, before: Directory | None, after: Directory | None, parts: tuple[str, ...]
) -> Iterator[TreeChange]:
    old = load(fetch, before.digest).entries if before else {}
    new = load(fetch, after.digest).entries if after else {}
    if parts:  # the root is there in every tree
        bare = [d if d and not e else None for d, e in ((before, old), (after, new))]
        if bare[0] != bare[1]:
            yield TreeChange("/".join(parts), bare[0], bare[1])
    for name in sorted({*old, *new}):
        here, a, b = (*parts, name), old.get(name), new.get(name)
        if a == b:
            continue
        file_a, file_b = (e if isinstance(e, TreeFile) else None for e in (a, b))
        dir_a, dir_b = (e if isinstance(e, Directory) else None for e in (a, b))
        if file_a or file_b:
            # A file in the place of an empty directory is one change, not two.
            bare_a = file_a or (dir_a if dir_a and dir_a.digest == EMPTY else None)
            bare_b = file_b or (dir_b if dir_b and dir_b.digest == EMPTY else None)
            yield TreeChange("/".join(here), bare_a, bare_b)
            dir_a = None if bare_a is dir_a else dir_a
            dir_b = None if bare_b is dir_b else dir_b
        if dir_a or dir_b:
            yield from _diff(fetch, dir_a, dir_b, here)
