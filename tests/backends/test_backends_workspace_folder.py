"""Workspaces as folders, there and back."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

import preloaded
from artificer.backends.workspace.audit import audit
from artificer.backends.workspace.folder import (
    CheckedOut,
    FolderCommit,
    check_out,
    commit_folder,
)
from artificer.backends.workspace.service import Workspaces
from artificer.backends.workspace.spec import tree
from artificer.backends.workspace.spec.edits import Put, apply
from artificer.contracts.workspace_names import MARK
from artificer.errors import NotFoundError, OperatorError
from artificer.storage.blobs import MemoryStore
from artificer.storage.memory import MemoryVersions


@pytest.fixture
def workspaces() -> Workspaces:
    return Workspaces(MemoryStore(), MemoryVersions(), lambda: 1_700_000_000_000)


def fill(folder: Path) -> Path:
    (folder / "sub" / "empty").mkdir(parents=True)
    (folder / "text.txt").write_text("hello")
    (folder / "sub" / "two words é").write_bytes(b"\0\xff")
    (folder / "sub" / "~7e").write_text("a name that looks encoded")
    script = folder / "run.sh"
    script.write_text("#!/bin/sh")
    script.chmod(0o750)
    return folder


def seen(folder: Path) -> dict[str, tuple[bytes, int] | None]:
    """Every path in a folder: a file's bytes and whether it may be executed."""
    found: dict[str, tuple[bytes, int] | None] = {}
    for path in folder.rglob("*"):
        if path.name != MARK:
            mode = path.stat().st_mode & stat.S_IXUSR
            found[str(path.relative_to(folder))] = (
                None if path.is_dir() else (path.read_bytes(), mode)
            )
    return found


def number(done: FolderCommit) -> int:
    assert done.version is not None
    return done.version.number


def put(workspaces: Workspaces, path: str = "f") -> Put:
    return Put(path, workspaces.blobs.put(b"x"), 1)


@pytest.mark.req("workspace-folder")
class TestThereAndBack:
    def test_every_file_comes_back_as_it_was(self, tmp_path: Path, workspaces: Workspaces) -> None:
        folder = fill(tmp_path / "one")
        assert number(commit_folder(workspaces, "w", folder)) == 1
        check_out(workspaces, "w", tmp_path / "two")
        assert seen(tmp_path / "two") == seen(folder)
        assert commit_folder(workspaces, "w", tmp_path / "two") == FolderCommit()
        assert audit(workspaces) == []

    @pytest.mark.parametrize("place", [MARK, f"{MARK}/x", f"{MARK}.new", f"{MARK}.new/x"])
    def test_what_is_in_the_place_of_the_mark_is_not_checked_out(
        self, tmp_path: Path, workspaces: Workspaces, place: str
    ) -> None:
        applied = apply(workspaces.blobs.get, tree.EMPTY, [put(workspaces, place), put(workspaces)])
        workspaces.keep(applied)
        workspaces.commit("w", applied.root, expected=0)
        check_out(workspaces, "w", tmp_path / "one")
        assert set(seen(tmp_path / "one")) == {"f"}
        assert number(commit_folder(workspaces, "w", tmp_path / "one")) == 2, "it is gone"

    def test_what_was_changed_is_the_next_version(
        self, tmp_path: Path, workspaces: Workspaces
    ) -> None:
        commit_folder(workspaces, "w", fill(tmp_path / "one"))
        two = tmp_path / "two"
        check_out(workspaces, "w", two)
        (two / "text.txt").unlink()
        (two / "new").write_text("new")
        assert number(commit_folder(workspaces, "w", two)) == 2
        (two / "new").write_text("newer")
        assert number(commit_folder(workspaces, "w", two)) == 3
        paths = [c.path for c in _diff(workspaces, 1, 3)]
        assert paths == ["new", "text.txt"]
        check_out(workspaces, "w", tmp_path / "old", 1)
        assert (tmp_path / "old" / "text.txt").read_text() == "hello"

    def test_a_folder_that_is_behind_is_a_conflict(
        self, tmp_path: Path, workspaces: Workspaces
    ) -> None:
        one = fill(tmp_path / "one")
        commit_folder(workspaces, "w", one)
        check_out(workspaces, "w", tmp_path / "two")
        (one / "text.txt").write_text("one")
        commit_folder(workspaces, "w", one)
        (tmp_path / "two" / "text.txt").write_text("two")
        done = commit_folder(workspaces, "w", tmp_path / "two")
        assert done.conflict is not None
        assert (done.conflict.expected, done.conflict.actual) == (1, 2)
        assert workspaces.head("w") == 2

    def test_a_folder_from_elsewhere_must_say_what_it_replaces(
        self, tmp_path: Path, workspaces: Workspaces
    ) -> None:
        commit_folder(workspaces, "w", fill(tmp_path / "one"))
        other = tmp_path / "other"
        other.mkdir()
        with pytest.raises(OperatorError, match="was not checked out"):
            commit_folder(workspaces, "w", other)
        assert number(commit_folder(workspaces, "w", other, expected=1)) == 2


def _diff(workspaces: Workspaces, one: int, other: int) -> list[tree.TreeChange]:
    roots = [workspaces.must_resolve("w", version).root for version in (one, other)]
    return list(tree.diff(workspaces.blobs.get, *roots))


KILLED = """
import os, signal, sys
from pathlib import Path
from artificer.storage.sqlite import SqliteVersions
from artificer.storage.blobs.disk import DiskStore
from artificer.backends.workspace.folder import commit_folder
from artificer.backends.workspace.service import Workspaces

home, folder, kill, expected = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
count = 0

def point():
    global count
    count += 1
    if count == kill:
        os.kill(os.getpid(), signal.SIGKILL)

class Versions(SqliteVersions):
    def add(self, *args):
        point()
        made = super().add(*args)
        point()
        return made

def audit(event, args):
    if event in ("os.rename", "os.remove") and ".artificer-workspace" in str(args[0]):
        point()

versions = Versions(home / "journal.db")
workspaces = Workspaces(DiskStore(home / "blobs"), versions, lambda: 1)
sys.addaudithook(audit)
done = commit_folder(workspaces, "w", folder, expected=int(expected) if expected else None)
assert done.conflict is None, done
print(done.version.number)
"""


@pytest.mark.req("workspace-folder-crash")
class TestACommitThatIsKilled:
    @pytest.mark.parametrize("expected", ["", "0"])
    def test_the_retry_of_a_first_commit_recognises_its_own(
        self, tmp_path: Path, expected: str
    ) -> None:
        self.everywhere(tmp_path, 0, expected)

    def test_the_retry_of_a_later_commit_recognises_its_own(self, tmp_path: Path) -> None:
        self.everywhere(tmp_path, 1, "")

    def everywhere(self, tmp_path: Path, before: int, expected: str) -> None:
        """Kill the commit at each point, and commit again: one version more, and no conflict."""
        for kill in range(1, 20):
            home, folder = tmp_path / f"{kill}-home", fill(tmp_path / f"{kill}")
            if before:
                assert self.commit(home, folder, 0, "").stdout == "1\n"
                (folder / "text.txt").write_text("changed")
            killed = self.commit(home, folder, kill, expected)
            if killed.returncode == 0:
                assert kill > 3, "it was killed before and after the commit, and at the mark"
                break
            again = self.commit(home, folder, 0, expected)
            assert (again.stdout, again.stderr) == (f"{before + 1}\n", "")
            (folder / "text.txt").write_text("changed again")
            later = self.commit(home, folder, 0, "")
            assert (later.stdout, later.stderr) == (f"{before + 2}\n", "")
        else:
            raise AssertionError("it was always killed")

    @staticmethod
    def commit(
        home: Path, folder: Path, kill: int, expected: str
    ) -> subprocess.CompletedProcess[str]:
        home.mkdir(exist_ok=True)
        argv = ["-c", KILLED, str(home), str(folder), str(kill), expected]
        return preloaded.run(argv, capture_output=True, text=True)

    def test_what_was_changed_after_the_kill_is_the_next_version(
        self, tmp_path: Path, workspaces: Workspaces
    ) -> None:
        folder = fill(tmp_path / "one")
        commit_folder(workspaces, "w", folder)
        begun = CheckedOut(workspace="w", version=0, pending=_key(workspaces))
        (folder / MARK).write_bytes(begun.canonical())
        (folder / "text.txt").write_text("edited since")
        assert number(commit_folder(workspaces, "w", folder)) == 2

    def test_another_s_commit_is_a_conflict_all_the_same(
        self, tmp_path: Path, workspaces: Workspaces
    ) -> None:
        commit_folder(workspaces, "w", fill(tmp_path / "one"))
        other = fill(tmp_path / "other")
        begun = CheckedOut(workspace="w", version=0, pending="another key")
        (other / MARK).write_bytes(begun.canonical())
        (other / "text.txt").write_text("other")
        assert commit_folder(workspaces, "w", other).conflict is not None
        kept = CheckedOut.read((other / MARK).read_bytes())
        assert kept == begun, "a refused commit leaves the mark as it was"


def _key(workspaces: Workspaces) -> str:
    version = workspaces.version("w", 1)
    assert version is not None and version.key
    return version.key


@pytest.mark.req("workspace-folder-safe")
class TestHostileFolders:
    def test_links_and_pipes_are_passed_over_and_named(
        self, tmp_path: Path, workspaces: Workspaces
    ) -> None:
        (tmp_path / "secret").write_text("secret")
        folder = tmp_path / "folder"
        folder.mkdir()
        (folder / "file").write_text("x")
        (folder / "link").symlink_to("../secret")
        (folder / "up").symlink_to("..")
        os.mkfifo(folder / "pipe")
        done = commit_folder(workspaces, "w", folder)
        assert done.skipped == ("link", "pipe", "up")
        root = workspaces.must_resolve("w").root
        assert [path for path, _ in tree.walk(workspaces.blobs.get, root)] == ["file"]

    @pytest.mark.parametrize("is_written", [False, True])
    def test_a_pipe_in_the_place_of_the_mark_holds_nothing_up(
        self, tmp_path: Path, workspaces: Workspaces, is_written: bool
    ) -> None:
        os.mkfifo(tmp_path / MARK)
        writer = os.open(tmp_path / MARK, os.O_RDWR) if is_written else -1
        (tmp_path / "file").write_text("x")
        assert number(commit_folder(workspaces, "w", tmp_path)) == 1
        assert CheckedOut.read((tmp_path / MARK).read_bytes()).version == 1
        if is_written:
            os.close(writer)

    def test_a_link_in_the_place_of_the_folder_is_refused(
        self, tmp_path: Path, workspaces: Workspaces
    ) -> None:
        (tmp_path / "link").symlink_to(fill(tmp_path / "real"))
        with pytest.raises(OperatorError, match="is a link") as refused:
            commit_folder(workspaces, "w", tmp_path / "link")
        assert str(tmp_path / "real") in str(refused.value.hint)
        commit_folder(workspaces, "w", tmp_path / "real")
        (tmp_path / "dangling").symlink_to("nowhere")
        with pytest.raises(OperatorError, match="is a link"):
            check_out(workspaces, "w", tmp_path / "dangling")

    def test_a_folder_that_holds_something_is_not_written_into(
        self, tmp_path: Path, workspaces: Workspaces
    ) -> None:
        commit_folder(workspaces, "w", fill(tmp_path / "one"))
        with pytest.raises(OperatorError, match="not empty"):
            check_out(workspaces, "w", tmp_path)
        with pytest.raises(NotFoundError, match="does not exist"):
            check_out(workspaces, "v", tmp_path / "v")

    def test_a_tree_whose_names_would_lead_out_stays_inside(
        self, tmp_path: Path, workspaces: Workspaces
    ) -> None:
        names = [f"~{name.hex()}" for name in (b"..", b"../x", b".", b"a/b")]
        puts = [Put(name, workspaces.blobs.put(b"x"), 1) for name in names]
        applied = apply(workspaces.blobs.get, tree.EMPTY, puts)
        workspaces.keep(applied)
        workspaces.commit("w", applied.root, expected=0)
        check_out(workspaces, "w", tmp_path / "deep" / "folder")
        assert sorted(seen(tmp_path / "deep" / "folder")) == sorted(names)
        assert {p.name for p in tmp_path.iterdir()} == {"deep"}


@pytest.mark.req("workspace-verify")
class TestAudit:
    def test_a_file_that_is_gone_is_found(self, tmp_path: Path) -> None:
        blobs = MemoryStore()
        workspaces = Workspaces(blobs, MemoryVersions(), lambda: 1)
        commit_folder(workspaces, "w", fill(tmp_path / "one"))
        entry = tree.find(blobs.get, workspaces.must_resolve("w").root, "text.txt")
        assert isinstance(entry, tree.TreeFile)
        rest = MemoryStore()
        for digest in blobs.digests():
            if digest != entry.digest:
                rest.put(blobs.get(digest))
        (fault,) = audit(Workspaces(rest, workspaces.versions, lambda: 1))
        assert entry.digest in fault and "Version 1 of 'w'" in fault

    def test_a_version_that_is_another_s_is_found(self, tmp_path: Path) -> None:
        versions = MemoryVersions()
        workspaces = Workspaces(MemoryStore(), versions, lambda: 1)
        commit_folder(workspaces, "w", fill(tmp_path / "one"))
        head = versions.head("w")
        assert head is not None and versions.add("v", 1, head[1]) and versions.add("w", 2, head[1])
        assert len(audit(workspaces)) == 2
