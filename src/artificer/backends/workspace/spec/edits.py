"""Changing a tree: several edits, all of them or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from artificer.backends.workspace.spec import tree
from artificer.backends.workspace.spec.tree import Directory, Fetch, FileMode, TreeFile, TreeNode
from artificer.contracts.workspace_names import path_fault
from artificer.values.base import Problem
from artificer.values.canon import digest_of

ABSENT = "absent"
"""Expected of a file that is to be new."""


class Put(Struct, frozen=True):
    """Write a file; the directories above it come by themselves.

    Without ``mode`` a file keeps its own. A directory that holds something never gives way to it.
    ``expect`` is ABSENT, or the digest that the file must
    have; a file that is already what is written is as good, so an edit may be repeated.
    """

    path: str
    digest: str
    size: int
    mode: FileMode | None = None
    expect: str | None = None


class Drop(Struct, frozen=True):
    """Remove a file or an empty directory. What is not there is removed already.

    With ``only_empty`` a directory that holds something is left, and is not a problem.
    """

    path: str
    only_empty: bool = False


class MakeDirectory(Struct, frozen=True):
    """Create a directory if it does not exist; replace a file of that name."""

    path: str


Edit = Put | Drop | MakeDirectory


class Applied(Struct, frozen=True):
    """The outcome of edits: a root and its new nodes, or the problems that prevent them.

    A problem's pointer is the number of its edit.
    """

    root: str
    nodes: tuple[bytes, ...] = ()
    problems: tuple[Problem, ...] = ()


class _Branch(Struct):
    """The edits of one path, and of those below it, by their next segment."""

    here: tuple[int, Edit] | None = None
    below: dict[str, _Branch] = {}


def apply(fetch: Fetch, root: str, edits: Sequence[Edit]) -> Applied:
    """Make the edits, in whatever order they come: no two are of the same path.

    A directory loses what is dropped in it before it is dropped itself.
    """
    work = _Work(fetch)
    top = _Branch()
    for number, edit in enumerate(edits):
        fault = path_fault(edit.path) or _plant(top, number, edit)
        if fault:
            work.complain(number, fault)
    if work.problems:
        return Applied(root, problems=tuple(work.problems))
    changed = work.rebuild(Directory(digest=root), top)
    if work.problems:
        return Applied(root, problems=tuple(sorted(work.problems, key=lambda p: int(p.pointer))))
    return Applied(changed.digest if changed else tree.EMPTY, tuple(work.nodes.values()))


def _plant(top: _Branch, number: int, edit: Edit) -> str | None:
    branch = top
    for part in edit.path.split("/"):
        branch = branch.below.setdefault(part, _Branch())
    if branch.here is not None:
        return "is named by another edit of the same call"
    branch.here = (number, edit)
    return None


class _Work:
    def __init__(self, fetch: Fetch) -> None:
        self.nodes: dict[str, bytes] = {}
        self.problems: list[Problem] = []
        self._fetch = fetch

    def complain(self, number: int, message: str) -> None:
        self.problems.append(Problem(pointer=str(number), message=message))

    def rebuild(self, directory: Directory | None, branch: _Branch) -> Directory | None:
        """Return the directory as the branch makes it."""
        entries = dict(tree.load(self._fetch, directory.digest).entries) if directory else {}
        for name, child in branch.below.items():
            after = self._entry(entries.get(name), child)
            if after is None:
                entries.pop(name, None)
            else:
                entries[name] = after
        if len(entries) > tree.MAX_ENTRIES:
            number = next(n for n, _ in _edits(branch))
            self.complain(number, f"would be one of more than {tree.MAX_ENTRIES} in its directory")
            return directory
        if directory is None and not entries:
            return None  # what was dropped below it was never there
        node = TreeNode(entries=dict(sorted(entries.items()))).canonical()
        digest = digest_of(node)
        if directory is None or digest != directory.digest:
            self.nodes[digest] = node
        return Directory(digest=digest)

    def _entry(
        self, entry: TreeFile | Directory | None, branch: _Branch
    ) -> TreeFile | Directory | None:
        if isinstance(entry, TreeFile) and branch.below:
            fills = [number for number, edit in _below(branch) if not isinstance(edit, Drop)]
            if fills and branch.here is not None and isinstance(branch.here[1], Drop):
                return self.rebuild(None, branch)  # a directory in the place of the dropped file
            for number in fills:
                self.complain(number, "lies below a file")
        elif branch.below and not isinstance(entry, TreeFile):
            entry = self.rebuild(entry, branch)
        if branch.here is None:
            return entry
        number, edit = branch.here
        match edit:
            case Put():
                return self._put(number, edit, entry)
            case Drop():
                return self._drop(number, edit, entry)
            case MakeDirectory():
                return self._make(entry)

    def _put(
        self, number: int, edit: Put, old: TreeFile | Directory | None
    ) -> TreeFile | Directory | None:
        if isinstance(old, Directory):
            if old.digest != tree.EMPTY:
                self.complain(number, "is a directory")
                return old
            old = None  # nothing is lost with it
        new = TreeFile(
            digest=edit.digest, size=edit.size, mode=edit.mode or (old.mode if old else "0644")
        )
        if new == old:
            return old
        if edit.expect == ABSENT and old is not None:
            self.complain(number, "exists already, and was to be new")
        elif edit.expect not in (None, ABSENT) and (old is None or old.digest != edit.expect):
            have = "is not there" if old is None else f"has the digest {old.digest}"
            self.complain(number, f"{have}, and not the one that was expected")
        return new

    def _drop(
        self, number: int, edit: Drop, old: TreeFile | Directory | None
    ) -> TreeFile | Directory | None:
        if isinstance(old, Directory) and old.digest != tree.EMPTY:
            if not edit.only_empty:
                self.complain(number, "is a directory that is not empty")
            return old
        return None

    def _make(self, old: TreeFile | Directory | None) -> Directory:
        if isinstance(old, Directory):
            return old
        self.nodes[tree.EMPTY] = tree.EMPTY_NODE
        return Directory(digest=tree.EMPTY)


def _edits(branch: _Branch) -> Iterable[tuple[int, Edit]]:
    if branch.here is not None:
        yield branch.here
    yield from _below(branch)


def _below(branch: _Branch) -> Iterable[tuple[int, Edit]]:
    for child in branch.below.values():
        yield from _edits(child)


def rebase(fetch: Fetch, base: str, ours: str, onto: str) -> tuple[Applied, tuple[str, ...]]:
    """Make the changes from ``base`` to ``ours`` on ``onto``, where others have changed it too.

    Of a file that both have changed, ours stays; its path is returned, with all such. The pointer
    of a problem is the path of what cannot be put there.
    """
    mine = list(tree.diff(fetch, base, ours))
    theirs = {change.path: change.after for change in tree.diff(fetch, base, onto)}
    both = tuple(c.path for c in mine if c.path in theirs and theirs[c.path] != c.after)
    edits = {change.path: _edit_of(change) for change in mine}
    for path in _lost_directories(fetch, ours, mine):
        edits.setdefault(path, Drop(path, only_empty=True))
    paths = list(edits)
    applied = apply(fetch, onto, list(edits.values()))
    problems = tuple(p.replace(pointer=paths[int(p.pointer)]) for p in applied.problems)
    return structs.replace(applied, problems=problems), both


def _edit_of(change: tree.TreeChange) -> Edit:
    match change.after:
        case TreeFile(digest=digest, size=size, mode=mode):
            return Put(change.path, digest, size, mode)
        case Directory():
            return MakeDirectory(change.path)
    return Drop(change.path, only_empty=isinstance(change.before, Directory))


def _lost_directories(fetch: Fetch, ours: str, changes: Sequence[tree.TreeChange]) -> set[str]:
    """The directories that are gone with what was removed from them."""
    above = {
        "/".join(parts[:depth])
        for change in changes
        if change.after is None
        for parts in (change.path.split("/"),)
        for depth in range(1, len(parts))
    }
    return {path for path in above if tree.find(fetch, ours, path) is None}
