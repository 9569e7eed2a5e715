"""The host tools, in real folders."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from artificer.backends.host import searching
from artificer.backends.host.executor import HostExecutor
from artificer.backends.host.folder import MAX_FILE_BYTES
from artificer.backends.host.spec.tools import MAX_LINES, READ_BYTES
from artificer.backends.process.lane import CallLane
from artificer.contracts.capabilities import Host
from artificer.contracts.schema import compile_schema
from artificer.errors import ConfigError
from artificer.ports import Call, Receipt
from artificer.storage.blobs import MemoryStore
from artificer.values.canon import digest_of


class Bench:
    """A folder and the tools in it."""

    def __init__(self, tmp_path: Path, **settings: Any) -> None:
        self.root = tmp_path / "folder"
        self.root.mkdir(exist_ok=True)
        self.host = Host(folder=str(self.root), **settings)
        self.blobs = MemoryStore()
        self.evidence = tmp_path / "evidence"
        self.calls = 0
        self.restart()

    def restart(self) -> None:
        """Another process takes over: what was in memory is gone."""
        self.executor = HostExecutor(self.host, blobs=self.blobs, evidence=self.evidence)

    async def call(self, tool: str, *, id: str | None = None, **arguments: Any) -> Receipt:
        definition = next(t for t in self.executor.tools if t.name == f"host.{tool}")
        assert compile_schema(definition.input_schema).problems(arguments) == ()
        self.calls += 1
        name = id or f"c{self.calls}"
        return await self.executor.execute(Call("r", name, definition, arguments, f"key-{name}"))

    async def ok(self, tool: str, **more: Any) -> str:
        receipt = await self.call(tool, **more)
        assert receipt.status == "ok", receipt.content
        return receipt.content

    async def json(self, tool: str, **more: Any) -> Any:
        return json.loads(await self.ok(tool, **more))

    async def no(self, tool: str, status: str = "error", **more: Any) -> str:
        receipt = await self.call(tool, **more)
        assert receipt.status == status, receipt.content
        answer = json.loads(receipt.content)
        assert answer["ok"] is False
        return str(answer["detail"]) + json.dumps(answer.get("problems", []))

    def put(self, **files: str | bytes) -> None:
        for name, data in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode() if isinstance(data, str) else data)

    def text(self, name: str) -> str:
        return (self.root / name).read_bytes().decode()

    def everything(self) -> dict[str, bytes]:
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in files}


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.req("host-read")
class TestRead:
    async def test_lines_have_their_numbers_and_the_head_says_which(self, bench: Bench) -> None:
        bench.put(f="one\ntwo\nthree\n")
        head, *lines = (await bench.ok("read", path="f")).split("\n")
        digest = digest_of(b"one\ntwo\nthree\n")
        assert head == f"f · lines 1-3 of 3 · 14 bytes · {digest}"
        assert lines == ["     1\tone", "     2\ttwo", "     3\tthree"]
        part = await bench.ok("read", path="f", line=2, lines=1)
        assert part.split("\n")[1:] == ["     2\ttwo", "(go on with line 3)"]
        assert "only 3 lines" in await bench.no("read", path="f", line=4)

    async def test_odd_endings_are_told(self, bench: Bench) -> None:
        bench.put(dos="a\r\nb", empty="")
        head, *lines = (await bench.ok("read", path="dos")).split("\n")
        assert r"lines end with \r\n" in head and "no newline at the end" in head
        assert lines == ["     1\ta", "     2\tb"]
        assert "empty · 0 bytes" in await bench.ok("read", path="empty")

    async def test_one_answer_is_bounded_and_says_how_to_go_on(self, bench: Bench) -> None:
        bench.put(long="x\n" * (MAX_LINES + 10), wide=("y" * 5_000 + "\n") * 100)
        assert f"(go on with line {MAX_LINES + 1})" in await bench.ok("read", path="long")
        wide = await bench.ok("read", path="wide")
        assert len(wide) < 32_000 and "(go on with line 1" in wide and "…" in wide

    async def test_bytes_of_any_file(self, bench: Bench) -> None:
        data = bytes(range(256)) * 400
        bench.put(binary=data, text="hello")
        for wrong in ("binary",):
            assert "offset" in await bench.no("read", path=wrong)
        answer = await bench.json("read", path="binary", offset=1, length=300)
        assert base64.b64decode(answer["base64"]) == data[1:301]
        assert (answer["range"], answer["more"], answer["size"]) == ([1, 301], True, len(data))
        whole = await bench.json("read", path="binary", offset=0)
        assert whole["range"] == [0, READ_BYTES]
        assert (await bench.json("read", path="text", offset=2))["text"] == "llo"
        assert "beyond" in await bench.no("read", path="text", offset=6)

    async def test_what_is_no_text(self, bench: Bench) -> None:
        bench.put(nul="a\0b", latin="é".encode("latin-1"))
        assert "binary" in await bench.no("read", path="nul")
        assert "no UTF-8 text (byte 0)" in await bench.no("read", path="latin")

    async def test_what_cannot_be_read(self, bench: Bench) -> None:
        bench.put(**{"dir/f": "x"})
        (bench.root / "big").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
        os.mkfifo(bench.root / "pipe")
        assert "is not there" in await bench.no("read", path="nothing")
        assert "is not there" in await bench.no("read", path="no/thing")
        assert "a directory" in await bench.no("read", path="dir")
        assert "no directory" in await bench.no("read", path="dir/f/x")
        assert "no regular file" in await bench.no("read", path="pipe")
        assert "ranges of its bytes" in await bench.no("read", path="big")
        assert (await bench.json("read", path="big", offset=MAX_FILE_BYTES))["text"] == "x"


@pytest.mark.req("host-confined")
class TestConfined:
    @pytest.mark.parametrize(
        "path", ["../secret", "a/../../secret", "/etc/passwd", "..", "/", "//etc/passwd"]
    )
    async def test_no_path_leads_out(self, bench: Bench, path: str) -> None:
        (bench.root.parent / "secret").write_text("secret")
        for tool in ("read", "stat", "list"):
            receipt = await bench.call(tool, path=path)
            assert receipt.status == "denied" and "secret\n" not in receipt.content
        await bench.no("write", "denied", path=path, text="x")

    async def test_an_absolute_path_inside_is_the_same_as_a_relative_one(
        self, bench: Bench
    ) -> None:
        bench.put(**{"d/f": "x\n"})
        assert await bench.ok("read", path=f"{bench.root}/d/f") == await bench.ok(
            "read", path="d/f"
        )

    async def test_no_link_is_followed_in_any_place(self, bench: Bench) -> None:
        outside = bench.root.parent / "outside"
        outside.mkdir()
        (outside / "secret").write_text("the secret\n")
        bench.put(**{"real/f": "x"})
        (bench.root / "file").symlink_to(outside / "secret")
        (bench.root / "dir").symlink_to(outside)
        (bench.root / "inner").symlink_to("real")
        for path in ("file", "dir/secret", "inner/f"):
            assert "symbolic link" in await bench.no("read", "denied", path=path)
            assert "symbolic link" in await bench.no("write", "denied", path=path, text="y")
        assert "symbolic link" in await bench.no("list", "denied", path="dir")
        assert (await bench.json("stat", path="file"))["kind"] == "link"
        found = await bench.json("glob", pattern="**")
        assert [f["path"] for f in found["files"]] == ["real/f"]
        assert await bench.ok("grep", pattern="secret") == "No line matches."
        assert (outside / "secret").read_text() == "the secret\n"
        assert sorted(p.name for p in outside.iterdir()) == ["secret"]

    async def test_links_that_are_swapped_meanwhile_lead_nowhere(self, bench: Bench) -> None:
        """A directory becomes a link and a directory again, while files are written below it."""
        outside = bench.root.parent / "outside"
        outside.mkdir()
        bench.put(**{"d/keep": "x"})
        spare, place, done = bench.root / "spare", bench.root / "d", False

        def swap() -> None:
            while not done:
                with suppress(OSError):  # a write was there first, and made the directory
                    place.rename(spare)
                    place.symlink_to(outside)
                with suppress(OSError):
                    place.unlink()
                with suppress(OSError):
                    spare.rename(place)

        swapping = asyncio.create_task(asyncio.to_thread(swap))
        for number in range(150):
            await bench.call("write", path=f"d/f{number}", text="x")
        done = True
        await swapping
        assert list(outside.iterdir()) == []

    async def test_protected_names_are_not_written_wherever_they_are(self, bench: Bench) -> None:
        bench.put(**{".git/hooks/pre-commit": "#!/bin/sh\n", "sub/.GIT": "x"})
        patch = "--- /dev/null\n+++ b/.git/x\n@@ -0,0 +1 @@\n+x\n"
        before = bench.everything()
        for path in (".git/hooks/pre-commit", "sub/.GIT", "artificer.toml", "a/.git/config"):
            assert "protected" in await bench.no("write", "denied", path=path, text="x")
        await bench.ok("read", path=".git/hooks/pre-commit")
        edit = {"path": ".git/hooks/pre-commit", "old": "sh", "new": "x"}
        assert "protected" in await bench.no("edit", "denied", **edit)
        assert "protected" in await bench.no("patch", patch=patch)
        assert bench.everything() == before

    async def test_no_folder_is_made_a_repository(self, bench: Bench) -> None:
        pwned = bench.root / "pwned"
        config = "[core]\n repositoryformatversion = 0\n bare = false\n worktree = ..\n"
        config += f' fsmonitor = "touch {pwned}; false"\n'
        files = {"config": config, "objects/x": "", "refs/x": "", "HEAD": "ref: refs/heads/x\n"}
        patch = "--- /dev/null\n+++ b/new/HEAD\n@@ -0,0 +1 @@\n+ref: refs/x\n"
        for name, text in files.items():
            await bench.call("write", path=f"sub/{name}", text=text)
        assert "may take its folder" in await bench.no("patch", patch=patch)
        if shutil.which("git"):
            ask = partial(subprocess.run, ["git", "status"], cwd=bench.root / "sub", check=False)
            await asyncio.to_thread(ask)
        assert not pwned.exists()
        await bench.ok("write", path="head/HEAD.md", text="x")

    async def test_a_folder_that_is_only_read(self, tmp_path: Path) -> None:
        names = [tool.name for tool in Bench(tmp_path, write=False).executor.tools]
        assert names == ["host.read", "host.list", "host.stat", "host.glob", "host.grep"]

    @pytest.mark.parametrize("is_link", [False, True])
    async def test_a_folder_that_is_gone(self, bench: Bench, is_link: bool) -> None:
        bench.put(**{"elsewhere/f": "x"})
        elsewhere = bench.root.with_name("elsewhere")
        (bench.root / "elsewhere").rename(elsewhere)
        bench.root.rmdir()
        if is_link:
            bench.root.symlink_to(elsewhere)
        calls: dict[str, dict[str, str]] = {
            "read": {"path": "f"},
            "list": {},
            "stat": {"path": "."},
            "glob": {"pattern": "*"},
            "grep": {"pattern": "x"},
            "write": {"path": "f", "text": "y"},
        }
        for tool, arguments in calls.items():
            assert "folder cannot be opened" in await bench.no(tool, **arguments), tool
        assert (elsewhere / "f").read_text() == "x"

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="does not exist"):
            HostExecutor(Host(folder=str(tmp_path / "x")), blobs=MemoryStore())


@pytest.mark.req("host-write")
class TestWrite:
    async def test_a_new_file_with_its_directories(self, bench: Bench) -> None:
        new = {"path": "a/b/c.sh", "text": "#!/bin/sh\n", "executable": True}
        told = await bench.ok("write", **new)
        assert told.startswith("a/b/c.sh made · 10 bytes · sha256:")
        assert (bench.root / "a/b/c.sh").stat().st_mode & 0o777 == 0o755
        again = await bench.ok(
            "write", path="a/b/c.sh", text="#!/bin/sh\n", expect="absent", id="c1"
        )
        assert again == told

    async def test_what_is_there_is_not_overwritten_blindly(self, bench: Bench) -> None:
        bench.put(f="old")
        assert "Read 'f' first" in await bench.no("write", path="f", text="new")
        assert "exists already" in await bench.no("write", path="f", text="new", expect="absent")
        wrong = digest_of(b"other")
        assert "not the one" in await bench.no("write", path="f", text="new", expect=wrong)
        assert "not there" in await bench.no("write", path="g", text="new", expect=wrong)
        assert bench.everything() == {"f": b"old"}
        await bench.ok("write", path="f", text="new", expect=digest_of(b"old"))
        assert bench.text("f") == "new"

    async def test_having_read_it_is_knowing_it_until_it_changes(self, bench: Bench) -> None:
        bench.put(f="old")
        await bench.ok("read", path="f")
        await bench.ok("write", path="f", text="new")
        await bench.ok("write", path="f", text="newer")
        bench.put(f="theirs")
        assert "has changed since" in await bench.no("write", path="f", text="mine")
        assert bench.text("f") == "theirs"

    async def test_a_file_keeps_its_mode(self, bench: Bench) -> None:
        bench.put(f="old")
        (bench.root / "f").chmod(0o750)
        await bench.ok("write", path="f", text="new", expect=digest_of(b"old"))
        assert (bench.root / "f").stat().st_mode & 0o777 == 0o750

    async def test_a_directory_is_no_file(self, bench: Bench) -> None:
        bench.put(**{"d/f": "x"})
        assert "directory" in await bench.no("write", path="d", text="x")
        assert "no directory" in await bench.no("write", path="d/f/x", text="x")

    async def test_the_evidence_says_what_changed(self, bench: Bench) -> None:
        bench.put(f="old")
        receipt = await bench.call("write", path="f", text="new", expect=digest_of(b"old"))
        (step,) = json.loads(receipt.evidence or "")["changes"]
        assert (step["path"], step["before"]) == ("f", digest_of(b"old"))
        assert step["after"] == digest_of(b"new")


@pytest.mark.req("host-edit-file")
class TestEdit:
    async def test_an_edit_is_shown_with_what_is_around_it(self, bench: Bench) -> None:
        bench.put(f="".join(f"line {n}\n" for n in range(1, 21)))
        await bench.ok("read", path="f")
        told = await bench.ok("edit", path="f", old="line 10\n", new="ten\n")
        assert told.startswith("f edited once · sha256:")
        assert "    10\tten" in told and "     6\tline 6" in told and "line 5\n" not in told
        assert "line 9\nten\nline 11" in bench.text("f")

    async def test_every_one_with_all(self, bench: Bench) -> None:
        bench.put(f="TODO\nx\nTODO\n")
        await bench.ok("read", path="f")
        told = await bench.no("edit", path="f", old="TODO", new="DONE")
        assert "2 times, at lines 1, 3" in told
        told = await bench.ok("edit", path="f", old="TODO", new="DONE", all=True)
        assert "edited 2 times" in told and bench.text("f") == "DONE\nx\nDONE\n"

    async def test_what_is_not_there_is_explained_and_nothing_happens(self, bench: Bench) -> None:
        bench.put(f="def f():\n    pass\n")
        await bench.ok("read", path="f")
        assert "white space" in await bench.no("edit", path="f", old="def f():\n  pass", new="x")
        assert "empty" in await bench.no("edit", path="f", old="", new="x")
        assert bench.text("f") == "def f():\n    pass\n"

    async def test_line_ends_stay_as_they_are(self, bench: Bench) -> None:
        bench.put(f="a\r\nb\r\n")
        await bench.ok("read", path="f")
        await bench.ok("edit", path="f", old="b\r\n", new="c\r\n")
        assert bench.text("f") == "a\r\nc\r\n"


@pytest.mark.req("host-read-first")
class TestReadFirst:
    async def test_a_file_is_edited_as_it_was_read(self, bench: Bench) -> None:
        bench.put(f="one")
        edit = {"path": "f", "old": "one", "new": "two"}
        assert "Read 'f' first" in await bench.no("edit", **edit)
        await bench.ok("read", path="f")
        bench.put(f="one, or another")
        assert "has changed since you read it" in await bench.no("edit", **edit)
        await bench.ok("read", path="f")
        await bench.ok("edit", **edit)
        await bench.ok("edit", path="f", old="two", new="three")

    async def test_a_resumed_run_reads_again(self, bench: Bench) -> None:
        bench.put(f="one")
        await bench.ok("read", path="f")
        bench.restart()
        bench.executor.recall("r", frozenset({"host.read"}))
        told = await bench.no("edit", path="f", old="one", new="two")
        assert "interrupted" in told

    async def test_what_one_run_has_read_another_has_not(self, bench: Bench) -> None:
        bench.put(f="one")
        await bench.ok("read", path="f")
        await bench.executor.release("r")
        assert "first" in await bench.no("edit", path="f", old="one", new="two")

    async def test_it_can_be_waived(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, read_first=False)
        bench.put(f="one", g="one")
        await bench.ok("edit", path="f", old="one", new="two")
        assert "first" in await bench.no("write", path="g", text="three")


PATCH = """--- a/f
+++ b/f
@@ -1,2 +1,2 @@
 one
-two
+TWO
--- /dev/null
+++ b/new/g
@@ -0,0 +1 @@
+hello
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-bye
"""


@pytest.mark.req("host-patch-files")
class TestPatch:
    async def test_all_files_of_a_patch(self, bench: Bench) -> None:
        bench.put(f="one\ntwo\n", gone="bye\n")
        for path in ("f", "gone"):
            await bench.ok("read", path=path)
        dry = await bench.ok("patch", patch=PATCH, dry_run=True)
        assert dry.split("\n") == [
            "f would be changed",
            "new/g would be made",
            "gone would be removed",
        ]
        assert bench.everything() == {"f": b"one\ntwo\n", "gone": b"bye\n"}
        assert "new/g was made" in await bench.ok("patch", patch=PATCH)
        assert bench.everything() == {"f": b"one\nTWO\n", "new/g": b"hello\n"}

    async def test_nothing_is_partial(self, bench: Bench) -> None:
        bench.put(f="one\ntwo\n", gone="something else\n")
        before = bench.everything()
        assert "Read 'gone' first" in await bench.no("patch", patch=PATCH)
        for path in ("f", "gone"):
            await bench.ok("read", path=path)
        told = await bench.no("patch", patch=PATCH)
        assert "gone, hunk 1" in told and "something else" in told
        assert bench.everything() == before

    async def test_what_cannot_be_written_down_first_is_not_done(self, bench: Bench) -> None:
        bench.put(f="a\n")
        await bench.ok("read", path="f")
        bench.evidence.write_text("a file in the place of the folder")
        told = await bench.no("edit", path="f", old="a", new="b")
        assert "Nothing was changed" in told and "Not a directory" in told
        assert bench.text("f") == "a\n"

    async def test_what_cannot_be_taken_back_is_said(self, bench: Bench) -> None:
        """As on a full disk: neither the next file nor the earlier one can be written."""
        lines = [f"{'x' * 99}\n"] * 1_000
        bench.put(f="".join(lines))
        await bench.ok("read", path="f")
        hunks = "".join(f"-{line}" for line in lines[1:])
        added = "".join(f"+{line}" for line in lines)
        patch = (
            f"--- a/f\n+++ b/f\n@@ -1,1000 +1,1 @@\n {lines[0]}{hunks}"
            f"--- /dev/null\n+++ b/g\n@@ -0,0 +1,1000 @@\n{added}"
        )
        with no_file_above(50_000):
            told = await bench.no("patch", "ambiguous", patch=patch)
        assert "'g': File too large" in told and "taken back in f" in told
        assert bench.everything() == {"f": lines[0].encode()}

    async def test_a_patch_that_cannot_be_read(self, bench: Bench) -> None:
        assert "cannot be read: line 1" in await bench.no("patch", "invalid", patch="hello")

    async def test_a_folder_that_cannot_be_made_takes_all_back(self, bench: Bench) -> None:
        bench.put(old="a\n")
        before = bench.everything()
        path = f"new/{'n' * 300}/f"
        made = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
        patch = "--- a/old\n+++ b/old\n@@ -1 +1 @@\n-a\n+b\n" + made
        await bench.ok("read", path="old")
        assert "File name too long" in await bench.no("patch", patch=patch)
        assert "File name too long" in await bench.no("write", path=path, text="x")
        assert bench.everything() == before

    async def test_what_fails_halfway_is_taken_back(self, bench: Bench) -> None:
        swapped = bench.root / "locked"

        class Trap(MemoryStore):
            """Takes a directory away once what is to be written in it has been stored."""

            def put(self, data: bytes) -> str:
                if data == b"y\n":
                    swapped.rename(swapped.with_name("elsewhere"))
                    swapped.write_text("a file now")
                return super().put(data)

        bench.blobs = Trap()
        bench.restart()
        bench.put(f="one\ntwo\n", **{"locked/g": "x\n"})
        for path in ("f", "locked/g"):
            await bench.ok("read", path=path)
        locked = "--- a/locked/g\n+++ b/locked/g\n@@ -1 +1 @@\n-x\n+y\n"
        changes = PATCH.split("--- /dev/null")[0] + locked
        await bench.no("patch", patch=changes)
        assert bench.text("f") == "one\ntwo\n"


@pytest.mark.req("host-again")
class TestPerformedAgain:
    """A call that is performed again because its receipt was lost in a crash."""

    async def test_an_edit_that_was_done_is_not_done_again(self, bench: Bench) -> None:
        bench.put(f="aa")
        await bench.ok("read", path="f")
        first = await bench.ok("edit", path="f", old="aa", new="aaaa", id="x")
        bench.restart()
        assert await bench.ok("edit", path="f", old="aa", new="aaaa", id="x") == first
        assert bench.text("f") == "aaaa"

    async def test_a_patch_is_carried_on_where_it_stopped(self, bench: Bench) -> None:
        bench.put(f="one\ntwo\n", gone="bye\n")
        for path in ("f", "gone"):
            await bench.ok("read", path=path)
        first = await bench.ok("patch", patch=PATCH, id="x")
        (bench.root / "new/g").unlink()
        bench.put(gone="bye\n")
        bench.restart()
        assert await bench.ok("patch", patch=PATCH, id="x") == first
        assert bench.everything() == {"f": b"one\nTWO\n", "new/g": b"hello\n"}

    async def test_what_somebody_else_has_done_since_is_left_alone(self, bench: Bench) -> None:
        bench.put(f="one\ntwo\n", gone="bye\n")
        for path in ("f", "gone"):
            await bench.ok("read", path=path)
        await bench.ok("patch", patch=PATCH, id="x")
        bench.put(f="theirs", gone="bye\n")
        bench.restart()
        assert "somebody else has changed f" in await bench.no(
            "patch", "ambiguous", patch=PATCH, id="x"
        )
        assert bench.everything() == {"f": b"theirs", "new/g": b"hello\n", "gone": b"bye\n"}

    def test_effects_are_what_they_are_called(self, bench: Bench) -> None:
        effects = {tool.name.removeprefix("host."): tool.effect for tool in bench.executor.tools}
        changing = {"write": "idempotent", "edit": "keyed", "patch": "keyed"}
        assert effects == dict.fromkeys(("read", "list", "stat", "glob", "grep"), "pure") | changing


@pytest.mark.req("host-find")
class TestFind:
    async def test_a_listing_has_kinds_sizes_and_pages(self, bench: Bench) -> None:
        bench.put(**{"b": "12", "a/f": "", "c": ""})
        first = await bench.json("list", limit=2)
        assert first["entries"] == [
            {"name": "a", "kind": "dir"},
            {"name": "b", "kind": "file", "size": 2},
        ]
        rest = await bench.json("list", limit=2, cursor=first["next"])
        assert [e["name"] for e in rest["entries"]] == ["c"] and "next" not in rest

    async def test_what_stands_at_a_path(self, bench: Bench) -> None:
        bench.put(f="12")
        (bench.root / "f").chmod(0o640)
        told = await bench.json("stat", path="f")
        assert (told["kind"], told["size"], told["mode"]) == ("file", 2, "0640")
        assert told["digest"] == digest_of(b"12")
        assert await bench.json("stat", path="g/h") == {"path": "g/h", "exists": False}

    @pytest.mark.parametrize(
        ("pattern", "found"),
        [
            ("*", ["a.py"]),
            ("*.py", ["a.py"]),
            ("**/*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
            ("src/*", ["src/b.py", "src/d.txt"]),
            ("src/**", ["src/b.py", "src/d.txt", "src/deep/c.py"]),
            ("**/deep/*", ["src/deep/c.py"]),
            ("**/[bc].p?", ["src/b.py", "src/deep/c.py"]),
            ("src", []),
        ],
    )
    async def test_globs(self, bench: Bench, pattern: str, found: Sequence[str]) -> None:
        names = ("a.py", "src/b.py", "src/deep/c.py", "src/d.txt", ".git/x.py")
        bench.put(**dict.fromkeys(names, ""))
        told = await bench.json("glob", pattern=pattern)
        assert [f["path"] for f in told["files"]] == found

    async def test_globs_below_a_directory_page_by_page(self, bench: Bench) -> None:
        bench.put(**{f"src/{n:02}": "" for n in range(10)}, other="")
        first = await bench.json("glob", pattern="*", path="src", limit=6)
        rest = await bench.json("glob", pattern="*", path="src", limit=6, cursor=first["next"])
        paths = [f["path"] for f in (*first["files"], *rest["files"])]
        assert paths == [f"src/{n:02}" for n in range(10)]

    async def test_lines_that_match_with_what_is_around(self, bench: Bench) -> None:
        bench.put(**{"a": "one\ntwo\nthree\n", "d/b": "Two\n", "bin": "two\0"})
        assert await bench.ok("grep", pattern="two") == "a:2: two"
        told = await bench.ok("grep", pattern="^two$", ignore_case=True)
        assert told.split("\n") == ["a:2: two", "d/b:1: Two"]
        assert await bench.ok("grep", pattern="[Tt]wo", glob="b") == "d/b:1: Two"
        assert await bench.ok("grep", pattern="[Tt]wo", path="d") == "d/b:1: Two"
        around = await bench.ok("grep", pattern="two", context=1)
        assert around.split("\n") == ["a-1- one", "a:2: two", "a-3- three"]
        assert "no regular expression" in await bench.no("grep", "invalid", pattern="(")
        assert "is not there" in await bench.no("grep", pattern="x", path="zz")

    async def test_matches_are_bounded(self, bench: Bench) -> None:
        bench.put(f="x\n" * 1000)
        told = (await bench.ok("grep", pattern="x", limit=5)).split("\n")
        assert len(told) == 6 and "there is more" in told[-1]

    async def test_an_expression_that_never_ends_is_ended(self, bench: Bench) -> None:
        patient = bench.executor
        bench.executor = HostExecutor(bench.host, blobs=bench.blobs, search_seconds=0.5)
        bench.put(f="a" * 60 + "b\n")
        assert "did not end" in await bench.no("grep", "timeout", pattern="(a+)+$")
        bench.executor = patient
        assert await bench.ok("grep", pattern="b$") != ""

    async def test_names_that_are_no_text_break_nothing(self, bench: Bench) -> None:
        (bench.root / os.fsdecode(b"\xff")).write_text("two\n")
        assert "\ufffd" in str(await bench.json("list"))
        assert "\ufffd" in str(await bench.json("glob", pattern="*"))
        assert "\ufffd" in await bench.ok("grep", pattern="two")

    @pytest.mark.parametrize(
        ("tool", "key", "name"), [("list", "entries", "name"), ("glob", "files", "path")]
    )
    async def test_a_page_may_end_with_a_name_that_is_no_text(
        self, bench: Bench, tool: str, key: str, name: str
    ) -> None:
        names = [b"a", b"b%\xff", b"b%\xff\xfe", b"c", b"d/\xff", "é".encode()]
        names = [name for name in names if tool == "glob" or b"/" not in name]
        for each in names:
            path = bench.root / os.fsdecode(each)
            path.parent.mkdir(exist_ok=True)
            path.touch()
        more = {"pattern": "**"} if tool == "glob" else {}
        pages = [await bench.json(tool, limit=1, **more)]
        while "next" in pages[-1]:
            pages.append(await bench.json(tool, limit=1, cursor=pages[-1]["next"], **more))
        listed = [entry[name] for page in pages for entry in page[key]]
        assert sorted(listed) == sorted(each.decode("utf-8", "replace") for each in names)

    def test_a_hostile_glob_costs_little(self) -> None:
        path = tuple("a" * 60)
        assert not searching.matches(path, (*("**", "a") * 30, "b"))

    async def test_a_glob_is_short_and_its_search_ends(self, bench: Bench) -> None:
        bench.put(**{"a/b/x": "found\n"})
        stars = "**/" * 1_300
        assert searching.glob_of(stars + "x//./**/**") == ("**", "x", "**")
        told = await bench.json("glob", pattern=stars + "x")
        assert [f["path"] for f in told["files"]] == ["a/b/x"]
        assert await bench.ok("grep", pattern="f", glob=stars + "x") == "a/b/x:1: found"
        for tool, more in (("glob", {"pattern": "*/" * 65}), ("grep", {"glob": "*/" * 65})):
            told = await bench.no(tool, "invalid", **{"pattern": "x", **more})
            assert "more than 64 segments" in told
        bench.executor = HostExecutor(bench.host, blobs=bench.blobs, search_seconds=0)
        assert "did not end" in await bench.no("glob", "timeout", pattern="**")

    async def test_an_expression_that_takes_long_to_be_made_is_ended(self, bench: Bench) -> None:
        """Nothing can end that in this process, whose event loop would wait."""
        bench.executor = HostExecutor(bench.host, blobs=bench.blobs, search_seconds=0.5)
        wide = "[\x01-\uffff]" * 200
        assert "did not end" in await bench.no("grep", "timeout", pattern=wide, ignore_case=True)


@pytest.mark.req("host-order")
class TestOrder:
    async def test_calls_of_one_turn_happen_as_they_were_written(self, bench: Bench) -> None:
        bench.put(f="0")
        await bench.ok("read", path="f")
        told = await asyncio.gather(
            bench.ok("edit", path="f", old="0", new="1"),
            bench.ok("read", path="f"),
            bench.ok("edit", path="f", old="1", new="2"),
            bench.ok("grep", pattern="."),
            bench.ok("write", path="f", text="3"),
        )
        assert "\t1" in told[1] and told[3] == "f:1: 2" and bench.text("f") == "3"

    async def test_readers_go_together_and_writers_alone(self) -> None:
        lane, inside, log = CallLane(), 0, []

        async def go(name: str, *, exclusive: bool) -> None:
            nonlocal inside
            async with lane.turn(exclusive=exclusive):
                inside += 1
                log.append((name, inside))
                for _ in range(3):
                    await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(
            *(go(name, exclusive=name.isupper()) for name in ("a", "b", "C", "d", "E", "f", "g"))
        )
        assert [name for name, _ in log] == ["a", "b", "C", "d", "E", "f", "g"]
        assert {name: count for name, count in log if name.isupper()} == {"C": 1, "E": 1}
        assert dict(log)["b"] == 2 and dict(log)["g"] == 2

    async def test_whoever_gives_up_waiting_holds_up_nobody(self) -> None:
        lane = CallLane()
        for exclusive in (True, False):
            async with lane.turn(exclusive=True):
                waiting = asyncio.ensure_future(_hold(lane, exclusive=exclusive))
                behind = asyncio.ensure_future(_hold(lane, exclusive=False))
                await asyncio.sleep(0)
                waiting.cancel()
            await behind
            granted = asyncio.ensure_future(_hold(lane, exclusive=exclusive))
            await asyncio.sleep(0)
            granted.cancel()
            await asyncio.wait([granted])
            await _hold(lane, exclusive=True)


async def _hold(lane: CallLane, *, exclusive: bool) -> None:
    async with lane.turn(exclusive=exclusive):
        await asyncio.sleep(0)
