"""The algebra of trees, held against a plain dictionary of paths."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.backends.workspace.spec import tree
from artificer.backends.workspace.spec.edits import (
    ABSENT,
    Applied,
    Drop,
    Edit,
    MakeDirectory,
    Put,
    apply,
    rebase,
)
from artificer.backends.workspace.spec.tree import Directory, TreeFile
from artificer.errors import NotFoundError, TamperedError
from artificer.storage.blobs import MemoryStore
from artificer.values.canon import digest_of

Leaves = dict[str, str | None]
"""A tree as the texts of its files by path; None is an empty directory."""

NAMES = ("a", "b", "a-b", "a.b", "B")
PATHS = st.one_of(
    st.sampled_from(["/".join(names) for names in itertools.product(NAMES, repeat=depth)])
    for depth in (1, 2, 3)
)


def consistent(leaves: Leaves) -> bool:
    return not any(q.startswith(f"{p}/") for p, q in itertools.permutations(leaves, 2))


TREES = st.dictionaries(PATHS, st.sampled_from(["", "x", "y"]) | st.none(), max_size=6).filter(
    consistent
)


class Shelf:
    """A store in which trees are made."""

    def __init__(self) -> None:
        self.blobs = MemoryStore()

    def put(self, path: str, text: str, **more: Any) -> Put:
        return Put(path, self.blobs.put(text.encode()), len(text), **more)

    def apply(self, root: str, *edits: Edit) -> Applied:
        applied = apply(self.blobs.get, root, edits)
        for node in applied.nodes:
            self.blobs.put(node)
        return applied

    def make(self, leaves: Leaves) -> str:
        edits = [
            MakeDirectory(path) if text is None else self.put(path, text)
            for path, text in leaves.items()
        ]
        applied = self.apply(tree.EMPTY, *edits)
        assert applied.problems == ()
        return applied.root

    def leaves(self, root: str) -> Leaves:
        found: Leaves = {}
        for path, entry in tree.walk(self.blobs.get, root):
            if isinstance(entry, TreeFile):
                found[path] = self.blobs.get(entry.digest).decode()
            elif entry.digest == tree.EMPTY:
                found[path] = None
        return found


def order(paths: list[str]) -> list[str]:
    return sorted(paths, key=lambda path: path.split("/"))


@pytest.mark.req("workspace-tree")
class TestTrees:
    @given(TREES)
    def test_what_is_put_is_there(self, leaves: Leaves) -> None:
        shelf = Shelf()
        assert shelf.leaves(shelf.make(leaves)) == leaves

    @given(TREES, st.randoms())
    def test_a_tree_is_its_files_not_its_history(self, leaves: Leaves, random: Any) -> None:
        shelf = Shelf()
        root = tree.EMPTY
        paths = list(leaves)
        random.shuffle(paths)
        for path in paths:
            text = leaves[path]
            edit = MakeDirectory(path) if text is None else shelf.put(path, text)
            root = shelf.apply(root, edit).root
        assert root == shelf.make(leaves)

    @given(TREES, TREES)
    def test_roots_are_equal_just_when_the_trees_are(self, one: Leaves, other: Leaves) -> None:
        shelf = Shelf()
        assert (shelf.make(one) == shelf.make(other)) == (one == other)

    @given(TREES, st.data())
    def test_a_walk_goes_on_after_any_of_its_paths(self, leaves: Leaves, data: Any) -> None:
        shelf = Shelf()
        root = shelf.make(leaves)
        whole = [path for path, _ in tree.walk(shelf.blobs.get, root)]
        assert whole == order(whole)
        after = data.draw(st.sampled_from(whole) | PATHS) if whole else "a"
        rest = [path for path, _ in tree.walk(shelf.blobs.get, root, after=after)]
        assert rest == [path for path in whole if path.split("/") > after.split("/")]

    def test_a_directory_alone(self) -> None:
        shelf = Shelf()
        root = shelf.make({"a/b/c": "x", "a/d": "y", "a-b": "z", "e": None})
        assert [p for p, _ in tree.walk(shelf.blobs.get, root, deep=False)] == ["a", "a-b", "e"]
        assert [p for p, _ in tree.walk(shelf.blobs.get, root, "a", deep=False)] == ["a/b", "a/d"]
        assert [p for p, _ in tree.walk(shelf.blobs.get, root, "a")] == ["a/b", "a/b/c", "a/d"]
        assert list(tree.walk(shelf.blobs.get, root, "a/d")) == []
        assert isinstance(tree.find(shelf.blobs.get, root, "a/b"), Directory)
        assert tree.find(shelf.blobs.get, root, "a/d/x") is None


@pytest.mark.req("workspace-tree")
@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"[]",
        b'{"entries":{"..":{"digest":"sha256:%s","kind":"dir"}}}' % (b"0" * 64),
        b'{"entries":{"a/b":{"digest":"sha256:%s","kind":"dir"}}}' % (b"0" * 64),
        b'{"entries":{"b":{"digest":"sha256:%s","kind":"dir"},'
        b'"a":{"digest":"sha256:%s","kind":"dir"}}}' % (b"0" * 64, b"0" * 64),
        b'{"entries":{"a":{"digest":"sha256:%s","kind":"link"}}}' % (b"0" * 64),
        b'{"entries":{"a":{"digest":"x","kind":"dir"}}}',
    ],
)
def test_a_blob_that_is_no_tree_is_not_read_as_one(blob: bytes) -> None:
    store = MemoryStore()
    with pytest.raises(TamperedError):
        list(tree.walk(store.get, store.put(blob)))


@pytest.mark.req("workspace-diff")
class TestDiff:
    @given(TREES, TREES)
    def test_it_tells_each_file_that_differs_in_order(self, one: Leaves, other: Leaves) -> None:
        shelf = Shelf()
        changes = list(tree.diff(shelf.blobs.get, shelf.make(one), shelf.make(other)))
        differing = [p for p in {*one, *other} if one.get(p, "-") != other.get(p, "-")]
        assert [change.path for change in changes] == order(differing)
        for change in changes:
            assert (change.before is not None) == (change.path in one)
            assert (change.after is not None) == (change.path in other)

    def test_what_two_trees_share_is_not_read(self) -> None:
        shelf = Shelf()
        one = shelf.make({"big/a": "x", "c": "1"})
        other = shelf.make({"big/a": "x", "c": "2"})
        shared = tree.find(shelf.blobs.get, one, "big")
        assert isinstance(shared, Directory)

        def fetch(digest: str) -> bytes:
            assert digest != shared.digest
            return shelf.blobs.get(digest)

        assert [(c.path, c.word) for c in tree.diff(fetch, one, other)] == [("c", "changed")]

    def test_a_mode_is_a_difference(self) -> None:
        shelf = Shelf()
        root = shelf.make({"a": "x"})
        other = shelf.apply(root, shelf.put("a", "x", mode="0755")).root
        (change,) = tree.diff(shelf.blobs.get, root, other)
        assert change.word == "changed"


@pytest.mark.req("workspace-edits")
class TestEdits:
    @given(TREES, st.lists(PATHS, unique=True, min_size=1, max_size=4), st.data())
    def test_all_happen_or_none(self, leaves: Leaves, paths: list[str], data: Any) -> None:
        shelf = Shelf()
        root = shelf.make(leaves)
        texts = {p: data.draw(st.sampled_from(["new", None])) for p in paths}
        edits = [Drop(p) if t is None else shelf.put(p, t) for p, t in texts.items()]
        applied = shelf.apply(root, *edits)
        if applied.problems:
            assert (applied.root, applied.nodes) == (root, ())
            return
        after = shelf.leaves(applied.root)
        for path, text in texts.items():
            assert after.get(path, "-") == (text or "-") or (
                text is None and any(p.startswith(f"{path}/") for p in paths)
            )
        untouched = [p for p in leaves if not any(p == q or p.startswith(f"{q}/") for q in paths)]
        for path in untouched:
            if leaves[path] is not None:
                assert after[path] == leaves[path]

    @given(TREES, st.lists(PATHS, unique=True, min_size=1, max_size=4), st.data())
    def test_doing_it_again_changes_nothing(
        self, leaves: Leaves, paths: list[str], data: Any
    ) -> None:
        shelf = Shelf()
        edits: list[Edit] = [Drop(path) for path in paths]
        if data.draw(st.booleans()):
            expect = data.draw(st.sampled_from([ABSENT, None]))
            edits = [shelf.put(path, "n", expect=expect) for path in paths]
        once = shelf.apply(shelf.make(leaves), *edits)
        if not once.problems:
            again = shelf.apply(once.root, *edits)
            assert (again.root, again.problems) == (once.root, ())

    def test_directories_come_by_themselves_and_stay(self) -> None:
        shelf = Shelf()
        root = shelf.make({"a/b/c": "x"})
        emptied = shelf.apply(root, Drop("a/b/c")).root
        assert shelf.leaves(emptied) == {"a/b": None}
        assert shelf.leaves(shelf.apply(emptied, Drop("a/b")).root) == {"a": None}
        assert shelf.apply(emptied, Drop("a/b"), Drop("a")).root == tree.EMPTY

    @pytest.mark.parametrize(
        ("edits", "faults"),
        [
            ([("put", "d")], {"0": "is a directory"}),
            ([("put", "f/x")], {"0": "lies below a file"}),
            ([("drop", "d")], {"0": "not empty"}),
            ([("put", "n"), ("put", "n")], {"1": "another edit"}),
            ([("put", "n"), ("put", "n/x")], {"0": "is a directory"}),
            ([("put", "../n"), ("put", "ok"), ("drop", "/")], {"0": ". or ..", "2": "relative"}),
        ],
    )
    def test_what_cannot_be_is_told_and_nothing_happens(
        self, edits: list[tuple[str, str]], faults: dict[str, str]
    ) -> None:
        shelf = Shelf()
        root = shelf.make({"d/x": "1", "f": "2"})
        made: list[Edit] = [
            shelf.put(path, "new") if word == "put" else Drop(path) for word, path in edits
        ]
        applied = shelf.apply(root, *made)
        assert applied.root == root
        assert [p.pointer for p in applied.problems] == list(faults)
        for problem in applied.problems:
            assert faults[problem.pointer] in problem.message

    def test_what_is_expected_of_a_file(self) -> None:
        shelf = Shelf()
        root = shelf.make({"f": "old"})
        old, new = digest_of(b"old"), digest_of(b"new")
        assert shelf.apply(root, shelf.put("f", "new", expect=old)).problems == ()
        assert shelf.apply(root, shelf.put("f", "new", expect=new)).problems
        assert shelf.apply(root, shelf.put("f", "new", expect=ABSENT)).problems
        assert shelf.apply(root, shelf.put("g", "new", expect=old)).problems
        assert shelf.apply(root, shelf.put("g", "new", expect=ABSENT)).problems == ()

    def test_a_file_keeps_its_mode(self) -> None:
        shelf = Shelf()
        root = shelf.apply(tree.EMPTY, shelf.put("f", "1", mode="0755")).root
        root = shelf.apply(root, shelf.put("f", "2")).root
        entry = tree.find(shelf.blobs.get, root, "f")
        assert isinstance(entry, TreeFile) and entry.mode == "0755"

    def test_a_directory_holds_so_much(self) -> None:
        shelf = Shelf()
        full = shelf.make({f"d/{n}": "" for n in range(tree.MAX_ENTRIES)})
        assert shelf.apply(full, shelf.put("d/one-more", "")).problems
        assert shelf.apply(full, shelf.put("d/0", "x")).problems == ()


@pytest.mark.req("workspace-rebase")
class TestRebase:
    @given(TREES, TREES)
    def test_on_an_unchanged_base_it_is_ours(self, base: Leaves, ours: Leaves) -> None:
        shelf = Shelf()
        roots = shelf.make(base), shelf.make(ours)
        applied, both = rebase(shelf.blobs.get, *roots, roots[0])
        assert (applied.root, applied.problems, both) == (roots[1], (), ())

    @given(TREES, TREES)
    def test_without_changes_of_ours_it_is_theirs(self, base: Leaves, theirs: Leaves) -> None:
        shelf = Shelf()
        roots = shelf.make(base), shelf.make(theirs)
        applied, both = rebase(shelf.blobs.get, roots[0], roots[0], roots[1])
        assert (applied.root, both) == (roots[1], ())

    def test_both_sides_are_kept_and_what_both_changed_is_told(self) -> None:
        shelf = Shelf()
        base = shelf.make({"a": "1", "b": "1", "c": "1"})
        ours = shelf.make({"a": "ours", "b": "ours", "c": "1"})
        theirs = shelf.make({"a": "1", "b": "theirs", "d": "theirs"})
        applied, both = rebase(shelf.blobs.get, base, ours, theirs)
        for node in applied.nodes:
            shelf.blobs.put(node)
        assert shelf.leaves(applied.root) == {"a": "ours", "b": "ours", "d": "theirs"}
        assert both == ("b",)

    def test_what_does_not_fit_is_a_problem(self) -> None:
        shelf = Shelf()
        base, ours = tree.EMPTY, shelf.make({"a/b": "ours"})
        applied, _ = rebase(shelf.blobs.get, base, ours, shelf.make({"a": "a file"}))
        assert applied.problems


@pytest.mark.req("workspace-tree")
def test_a_missing_node_is_told() -> None:
    with pytest.raises(NotFoundError):
        list(tree.walk(MemoryStore().get, digest_of(b"never stored")))
