"""The workspace tools, called as a run calls them."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest

from artificer.backends.workspace.audit import audit
from artificer.backends.workspace.executor import WorkspaceExecutor
from artificer.backends.workspace.service import Workspaces
from artificer.backends.workspace.spec import tree
from artificer.backends.workspace.spec.edits import Put, apply
from artificer.backends.workspace.spec.tools import READ_BYTES
from artificer.contracts.capabilities import Grant
from artificer.contracts.schema import compile_schema
from artificer.contracts.workspace_names import MARK
from artificer.ports import Call, Receipt
from artificer.storage.blobs import MemoryStore
from artificer.storage.memory import MemoryVersions
from artificer.values.canon import digest_of

ANY = (Grant(names=("*",)),)


class Bench:
    """A world's workspaces, and runs that use them."""

    def __init__(self, grants: Sequence[Grant] = ANY) -> None:
        self.workspaces = Workspaces(MemoryStore(), MemoryVersions(), lambda: 1_700_000_000_000)
        self.grants = grants
        self.calls = 0

    async def call(
        self, tool: str, *, run: str = "r", key: str | None = None, **arguments: Any
    ) -> Receipt:
        """Perform a call that has passed the gate: its arguments fit the tool's schema."""
        executor = WorkspaceExecutor(self.workspaces, self.grants)
        definition = next(t for t in executor.tools if t.name == f"workspace.{tool}")
        assert compile_schema(definition.input_schema).problems(arguments) == ()
        self.calls += 1
        call = Call(run, f"c{self.calls}", definition, arguments, key or f"key-{self.calls}")
        return await executor.execute(call)

    async def ok(self, tool: str, **more: Any) -> dict[str, Any]:
        receipt = await self.call(tool, **more)
        assert receipt.status == "ok", receipt.content
        answer: dict[str, Any] = json.loads(receipt.content)
        return answer

    async def no(self, tool: str, status: str = "error", **more: Any) -> dict[str, Any]:
        receipt = await self.call(tool, **more)
        assert receipt.status == status, receipt.content
        answer: dict[str, Any] = json.loads(receipt.content)
        assert answer["ok"] is False and answer["status"] == status
        return answer

    async def write(self, name: str = "w", *, version: int | None = None, **files: str) -> Any:
        more = {} if version is None else {"version": version}
        listed = [{"path": path, "text": text} for path, text in files.items()]
        return await self.ok("write", workspace=name, files=listed, **more)

    def commit(self, expected: int, **files: str) -> None:
        """Commit as somebody else would."""
        base = self.workspaces.resolve("w", expected)
        edits = [Put(p, self.workspaces.blobs.put(t.encode()), len(t)) for p, t in files.items()]
        applied = apply(self.workspaces.blobs.get, base.root if base else tree.EMPTY, edits)
        assert applied.problems == ()
        self.workspaces.keep(applied)
        assert self.workspaces.commit("w", applied.root, expected=expected)


@pytest.mark.req("workspace-no-git")
@pytest.mark.parametrize(
    "folder", [".git", "a/.GIT", "a/.git/hooks", "~2e6769e2808c74", "~2e67697420"]
)
async def test_nothing_is_written_where_git_would_run_it(folder: str) -> None:
    bench = Bench()
    files = [{"path": "a.txt", "text": "1"}, {"path": f"{folder}/config", "text": "[core]"}]
    answer = await bench.no("write", "invalid", workspace="w", version=0, files=files)
    assert [problem["pointer"] for problem in answer["problems"]] == ["/files/1/path"]
    assert bench.workspaces.names() == []
    await bench.write(**{".github/workflows/ci.yml": "on: push", ".gitignore": "x"}, version=0)


@pytest.mark.req("workspace-no-git")
@pytest.mark.parametrize("head", ["HEAD", "a/head", "a/~4845e2808c4144"])
async def test_nothing_is_written_that_makes_a_folder_a_repository(head: str) -> None:
    bench = Bench()
    answer = await bench.no(
        "write", "invalid", workspace="w", version=0, files=[{"path": head, "text": "ref: refs/x"}]
    )
    assert [problem["pointer"] for problem in answer["problems"]] == ["/files/0/path"]
    await bench.write(**{"head/config": "x", "HEAD.md": "x", "objects/a": "x"}, version=0)


@pytest.mark.req("workspace-folder")
@pytest.mark.parametrize("place", [MARK, f"{MARK}/a", f"{MARK}.new"])
async def test_nothing_is_written_where_a_folder_has_its_mark(place: str) -> None:
    bench = Bench()
    answer = await bench.no(
        "write", "invalid", workspace="w", version=0, files=[{"path": place, "text": "{}"}]
    )
    assert "remembers" in answer["problems"][0]["message"]
    await bench.write(**{f"a/{MARK}": "x"}, version=0)


@pytest.mark.req("workspace-flow")
async def test_from_a_first_file_to_an_empty_directory_removed() -> None:
    bench = Bench()
    await bench.ok(
        "write",
        workspace="w",
        version=0,
        files=[
            {"path": "a/b.txt", "text": "one\ntwo\n"},
            {"path": "run", "text": "#!", "mode": "0755"},
        ],
    )
    committed = await bench.ok("commit", workspace="w", message="first")
    assert (committed["committed"], committed["version"]) == (True, 1)
    top = await bench.ok("list", workspace="w")
    assert [e["path"] for e in top["entries"]] == ["a", "run"]
    assert (top["version"], top["draft"], top["root"]) == (1, False, committed["root"])
    whole = await bench.ok("list", workspace="w", depth="subtree")
    assert [(e["path"], e.get("mode")) for e in whole["entries"]] == [
        ("a", None),
        ("a/b.txt", "0644"),
        ("run", "0755"),
    ]
    part = await bench.ok("read", workspace="w", path="a/b.txt", offset=4, length=3)
    assert (part["text"], part["range"], part["size"], part["more"]) == ("two", [4, 7], 8, True)
    await bench.ok("remove", workspace="w", paths=["a/b.txt"])
    changed = await bench.ok("diff", workspace="w")
    assert [(c["path"], c["change"]) for c in changed["changes"]] == [
        ("a", "added"),
        ("a/b.txt", "removed"),
    ]
    assert changed["changes"][0]["after"] == "empty directory"
    await bench.ok("remove", workspace="w", paths=["a"])
    left = await bench.ok("list", workspace="w", depth="subtree")
    assert [e["path"] for e in left["entries"]] == ["run"]
    assert (left["version"], left["draft"]) == (1, True)
    assert (await bench.ok("commit", workspace="w"))["version"] == 2
    old = await bench.ok("read", workspace="w", path="a/b.txt", version=1)
    assert (old["version"], old["text"]) == (1, "one\ntwo\n")
    assert audit(bench.workspaces) == []


@pytest.mark.req("workspace-resolve")
class TestResolved:
    async def test_every_answer_names_its_version_and_root(self) -> None:
        bench = Bench()
        bench.commit(0, f="1")
        bench.commit(1, f="2")
        for version, text in ((1, "1"), (2, "2"), (None, "2")):
            asked = {} if version is None else {"version": version}
            answer = await bench.ok("read", workspace="w", path="f", **asked)
            assert (answer["version"], answer["head"], answer["text"]) == (version or 2, 2, text)
            assert answer["root"] == bench.workspaces.must_resolve("w", version).root

    async def test_no_tool_takes_a_root(self) -> None:
        for tool in WorkspaceExecutor(Bench().workspaces, ANY).tools:
            properties: Any = tool.input_schema["properties"]
            assert "root" not in properties and "digest" not in properties
            assert tool.input_schema["additionalProperties"] is False

    async def test_a_missing_workspace_is_no_error_of_a_listing(self) -> None:
        bench = Bench()
        assert await bench.ok("list", workspace="w") == {"workspace": "w", "exists": False}
        assert (await bench.ok("list"))["workspaces"] == []
        bench.commit(0, f="1")
        assert (await bench.ok("list", workspace="w", version=7))["exists"] is False
        assert (await bench.ok("list"))["workspaces"] == [{"workspace": "w", "version": 1}]

    async def test_a_directory_that_is_not_there_is_an_error(self) -> None:
        bench = Bench()
        bench.commit(0, f="1")
        for path in ("d", "f"):
            assert "no directory" in (await bench.no("list", workspace="w", path=path))["detail"]


@pytest.mark.req("workspace-missing")
class TestMissing:
    async def test_writing_into_nothing_is_an_error_and_leaves_nothing(self) -> None:
        bench = Bench()
        files = [{"path": "f", "text": "x"}]
        told = await bench.no("write", workspace="w", files=files)
        assert "no workspace 'w'" in told["detail"] and "version 0" in told["detail"]
        await bench.no("remove", workspace="w", paths=["f"])
        assert bench.workspaces.names() == []

    async def test_a_missing_version_is_never_an_empty_tree(self) -> None:
        bench = Bench()
        bench.commit(0, precious="1")
        told = await bench.no("write", workspace="w", version=9, files=[{"path": "f", "text": ""}])
        assert "no version 9" in told["detail"]
        told = await bench.no("write", workspace="w", version=0, files=[{"path": "f", "text": ""}])
        assert "head is version 1" in told["detail"]
        await bench.no("read", workspace="w", path="precious", version=9)
        await bench.no("diff", workspace="w", **{"from": 9})
        assert (await bench.ok("commit", workspace="w"))["committed"] is False
        assert bench.workspaces.head("w") == 1

    async def test_a_draft_keeps_the_version_it_began_from(self) -> None:
        bench = Bench()
        bench.commit(0, f="1")
        bench.commit(1, f="2")
        await bench.write(version=1, g="x")
        told = await bench.no("write", workspace="w", version=2, files=[{"path": "h", "text": ""}])
        assert "began from version 1" in told["detail"]


@pytest.mark.req("workspace-pages")
class TestPages:
    async def test_every_page_goes_on_where_the_last_one_ended(self) -> None:
        bench = Bench()
        bench.commit(0, **{f"d{n % 3}/f{n:03}": "x" for n in range(100)}, **{"d0-x": "y"})
        whole = await bench.ok("list", workspace="w", depth="subtree", limit=200)
        assert "next" not in whole
        paths: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            answer = await bench.ok("list", workspace="w", depth="subtree", limit=7, **cursor)
            paths += [entry["path"] for entry in answer["entries"]]
            if "next" not in answer:
                break
            assert len(answer["entries"]) == 7
            cursor = {"cursor": answer["next"]}
        assert paths == [entry["path"] for entry in whole["entries"]]
        assert len(paths) == 104

    async def test_a_comparison_has_pages_too(self) -> None:
        bench = Bench()
        bench.commit(0, **{f"f{n:03}": "x" for n in range(30)})
        first = await bench.ok("diff", workspace="w", limit=20, **{"from": 0})
        rest = await bench.ok("diff", workspace="w", cursor=first["next"], **{"from": 0})
        told = [c["path"] for c in (*first["changes"], *rest["changes"])]
        assert told == [f"f{n:03}" for n in range(30)] and "next" not in rest

    async def test_long_paths_make_short_pages(self) -> None:
        bench = Bench()
        bench.commit(0, **{f"{'x' * 400}/{'y' * 400}{n:03}": "" for n in range(60)})
        receipt = await bench.call("list", workspace="w", depth="subtree", limit=200)
        assert len(receipt.content) < 32_000
        assert "next" in json.loads(receipt.content)


@pytest.mark.req("workspace-ranges")
class TestRanges:
    async def test_a_range_is_half_open_and_ends_with_the_file(self) -> None:
        bench = Bench()
        bench.commit(0, f="0123456789")
        for offset, length, text in ((0, 4, "0123"), (4, 100, "456789"), (10, 5, "")):
            answer = await bench.ok("read", workspace="w", path="f", offset=offset, length=length)
            assert (answer["text"], answer["range"]) == (text, [offset, offset + len(text)])
            assert answer["more"] is (answer["range"][1] < 10)
        assert "beyond" in (await bench.no("read", workspace="w", path="f", offset=11))["detail"]

    async def test_no_character_is_cut(self) -> None:
        bench = Bench()
        bench.commit(0)
        await bench.write(f="aéb€c")
        text, offset = "", 0
        while True:
            answer = await bench.ok("read", workspace="w", path="f", offset=offset, length=4)
            text, offset = text + answer["text"], answer["range"][1]
            if not answer["more"]:
                break
        assert text == "aéb€c"

    async def test_what_is_no_text_comes_in_base64(self) -> None:
        bench = Bench()
        data = bytes(range(256))
        encoded = base64.b64encode(data).decode()
        files = [{"path": "f", "base64": encoded}]
        await bench.ok("write", workspace="w", version=0, files=files)
        answer = await bench.ok("read", workspace="w", path="f")
        assert (answer["base64"], answer["digest"]) == (encoded, digest_of(data))

    async def test_one_answer_is_bounded(self) -> None:
        bench = Bench()
        await bench.write(version=0, f="x" * (READ_BYTES + 10))
        answer = await bench.ok("read", workspace="w", path="f")
        assert (len(answer["text"]), answer["more"]) == (READ_BYTES, True)


@pytest.mark.req("workspace-writes")
class TestWrites:
    async def test_all_files_of_a_call_or_none(self) -> None:
        bench = Bench()
        bench.commit(0, **{"d/x": "1"})
        files = [{"path": "new", "text": "x"}, {"path": "d", "text": "x"}]
        told = await bench.no("write", workspace="w", files=files)
        assert told["problems"] == [{"message": "is a directory", "pointer": "/files/1/path"}]
        assert (await bench.ok("list", workspace="w"))["draft"] is False
        told = await bench.no("remove", workspace="w", paths=["d/x", "x/../y"])
        assert told["problems"][0]["pointer"] == "/paths/1"
        assert (await bench.ok("read", workspace="w", path="d/x"))["text"] == "1"

    async def test_a_file_is_text_or_base64_and_says_which(self) -> None:
        bench = Bench()
        bench.commit(0)
        for file in (
            {"path": "f"},
            {"path": "f", "text": "", "base64": ""},
            {"path": "f", "base64": "?"},
        ):
            told = await bench.no("write", "invalid", workspace="w", files=[file])
            assert told["problems"][0]["pointer"] == "/files/0"

    async def test_writing_again_changes_nothing(self) -> None:
        bench = Bench()
        bench.commit(0)
        again = {"workspace": "w", "files": [{"path": "f", "text": "x", "expect": "absent"}]}
        first = await bench.ok("write", **again)
        second = await bench.ok("write", **again)
        assert (second["root"], second["changes"]) == (first["root"], [])
        gone = {"workspace": "w", "paths": ["f"]}
        assert len((await bench.ok("remove", **gone))["changes"]) == 1
        assert (await bench.ok("remove", **gone))["changes"] == []

    async def test_what_is_expected_of_a_file_holds(self) -> None:
        bench = Bench()
        bench.commit(0, f="1")
        for expect in ("absent", digest_of(b"2")):
            file = {"path": "f", "text": "3", "expect": expect}
            await bench.no("write", workspace="w", files=[file])
        file = {"path": "f", "text": "3", "expect": digest_of(b"1")}
        await bench.ok("write", workspace="w", files=[file])


@pytest.mark.req("workspace-drafts")
class TestDrafts:
    async def test_a_draft_is_its_run_s_alone_and_moves_no_head(self) -> None:
        bench = Bench()
        bench.commit(0, f="1")
        await bench.write(f="mine")
        assert (await bench.ok("read", workspace="w", path="f"))["text"] == "mine"
        assert (await bench.ok("read", workspace="w", path="f", run="other"))["text"] == "1"
        assert bench.workspaces.head("w") == 1
        await bench.ok("commit", workspace="w")
        assert (await bench.ok("read", workspace="w", path="f", run="other"))["text"] == "mine"

    async def test_without_a_draft_a_run_sees_the_head_move(self) -> None:
        bench = Bench()
        bench.commit(0, f="1")
        await bench.write(g="x")
        await bench.ok("commit", workspace="w")
        bench.commit(2, f="theirs")
        answer = await bench.ok("read", workspace="w", path="f")
        assert (answer["text"], answer["version"], answer["draft"]) == ("theirs", 3, False)

    async def test_a_draft_that_changes_nothing_is_none(self) -> None:
        bench = Bench()
        bench.commit(0, f="1")
        await bench.write(f="2")
        await bench.write(f="1")
        assert (await bench.ok("list", workspace="w"))["draft"] is False
        told = await bench.ok("commit", workspace="w")
        assert (told["committed"], bench.workspaces.head("w")) == (False, 1)


@pytest.mark.req("workspace-commit")
class TestCommit:
    async def test_a_conflict_is_an_answer_and_moves_nothing(self) -> None:
        bench = Bench()
        bench.commit(0, f="1", g="1")
        await bench.write(f="mine")
        bench.commit(1, f="theirs", h="theirs")
        told = await bench.ok("commit", workspace="w")
        assert told["committed"] is False
        assert told["conflict"] == {
            "expected": 1,
            "actual": 2,
            "changed": ["f", "h"],
            "both": ["f"],
        }
        assert bench.workspaces.head("w") == 2
        assert (await bench.ok("read", workspace="w", path="f"))["text"] == "mine"

    async def test_naming_the_head_one_has_seen_puts_the_draft_on_top_of_it(self) -> None:
        bench = Bench()
        bench.commit(0, f="1", g="1", gone="1")
        await bench.write(f="mine")
        await bench.ok("remove", workspace="w", paths=["gone"])
        bench.commit(1, f="theirs", g="theirs")
        told = await bench.ok("commit", workspace="w", expected=2)
        assert (told["version"], told["overwrote"]) == (3, ["f"])
        texts = {
            e["path"]: (await bench.ok("read", workspace="w", path=e["path"]))["text"]
            for e in (await bench.ok("list", workspace="w"))["entries"]
        }
        assert texts == {"f": "mine", "g": "theirs"}

    @pytest.mark.parametrize("expected", [0, 1, 3, 99])
    async def test_any_other_number_is_a_conflict(self, expected: int) -> None:
        bench = Bench()
        bench.commit(0, f="1")
        bench.commit(1, f="2")
        await bench.write(f="mine")
        told = await bench.ok("commit", workspace="w", expected=expected)
        assert told["conflict"]["actual"] == 2
        assert told["conflict"]["expected"] == expected

    async def test_files_that_do_not_fit_are_a_conflict(self) -> None:
        bench = Bench()
        bench.commit(0)
        await bench.write(**{"a/b": "mine"})
        bench.commit(1, a="a file")
        told = await bench.ok("commit", workspace="w", expected=2)
        assert told["committed"] is False and "a/b lies below a file" in told["detail"]

    async def test_a_first_commit_that_another_run_was_before(self) -> None:
        bench = Bench()
        for run in ("one", "two"):
            files = [{"path": run, "text": run}]
            await bench.ok("write", workspace="w", version=0, files=files, run=run)
        assert (await bench.ok("commit", workspace="w", run="one"))["version"] == 1
        told = await bench.ok("commit", workspace="w", run="two")
        assert told["conflict"] == {"expected": 0, "actual": 1, "changed": ["one"]}

    async def test_versions_are_a_chain(self) -> None:
        bench = Bench()
        await bench.write(version=0, f="1")
        await bench.ok("commit", workspace="w", message="first")
        await bench.write(f="2")
        await bench.ok("commit", workspace="w", message="second")
        second, first = bench.workspaces.log("w")
        assert (second.number, second.message, second.run) == (2, "second", "r")
        assert second.before == digest_of(first.canonical()) and first.before is None


@pytest.mark.req("workspace-again")
class TestPerformedAgain:
    """A call that is performed again because its receipt was lost in a crash."""

    async def test_a_commit_finds_what_it_has_committed(self) -> None:
        bench = Bench()
        await bench.write(version=0, f="1")
        first = await bench.ok("commit", workspace="w", key="k")
        assert await bench.ok("commit", workspace="w", key="k") == first
        assert bench.workspaces.head("w") == 1

    async def test_so_it_does_where_the_draft_had_not_moved_yet(self) -> None:
        bench = Bench()
        await bench.write(version=0, f="1")
        root = (await bench.ok("list", workspace="w"))["root"]
        made = bench.workspaces.commit("w", root, expected=0, run="r", key="k")
        bench.commit(1, f="theirs")
        told = await bench.ok("commit", workspace="w", key="k")
        assert (told["committed"], told["version"], told["root"]) == (True, 1, root)
        assert bench.workspaces.head("w") == 2
        assert made == bench.workspaces.version("w", 1)
        answer = await bench.ok("read", workspace="w", path="f")
        assert (answer["draft"], answer["text"]) == (False, "theirs")

    async def test_effects_are_what_they_are_called(self) -> None:
        tools = WorkspaceExecutor(Bench().workspaces, ANY).tools
        assert {tool.name: tool.effect for tool in tools} == {
            "workspace.list": "pure",
            "workspace.read": "pure",
            "workspace.write": "idempotent",
            "workspace.remove": "idempotent",
            "workspace.diff": "pure",
            "workspace.commit": "keyed",
        }


@pytest.mark.req("workspace-grants")
class TestGrants:
    async def test_nothing_is_offered_that_nothing_grants(self) -> None:
        bench = Bench([Grant(names=("w",), operations=("list", "read"))])
        tools = WorkspaceExecutor(bench.workspaces, bench.grants).tools
        assert [tool.name for tool in tools] == ["workspace.list", "workspace.read"]
        assert WorkspaceExecutor(bench.workspaces, ()).tools == ()

    async def test_a_workspace_that_is_not_granted_is_denied_not_described(self) -> None:
        bench = Bench()
        bench.commit(0, secret="x")
        bench.grants = [Grant(names=("v",))]
        root = bench.workspaces.must_resolve("w").root
        for tool, more in (
            ("list", {}),
            ("read", {"path": "secret"}),
            ("write", {"files": [{"path": "f", "text": ""}]}),
            ("remove", {"paths": ["secret"]}),
            ("diff", {"from": 0}),
            ("commit", {}),
        ):
            told = await bench.no(tool, "denied", workspace="w", **more)
            assert root not in str(told) and "secret.txt" not in str(told)
        assert (await bench.ok("list"))["workspaces"] == []
        missing = await bench.no("read", "denied", workspace="nothing", path="x")
        there = await bench.no("read", "denied", workspace="w", path="x")
        assert missing["detail"].replace("nothing", "w") == there["detail"]

    async def test_paths_are_granted_up_to_a_slash(self) -> None:
        bench = Bench()
        bench.commit(0, **{"docs/a": "1", "docs2/a": "2", "doc": "3"})
        bench.grants = [Grant(names=("w",), paths=("docs",))]
        assert (await bench.ok("read", workspace="w", path="docs/a"))["text"] == "1"
        await bench.ok("list", workspace="w", path="docs")
        for path in ("docs2/a", "doc"):
            told = await bench.no("read", "denied", workspace="w", path=path)
            assert "Granted: docs" in told["detail"]
        await bench.no("list", "denied", workspace="w")
        await bench.no("diff", "denied", workspace="w", **{"from": 0})
        both = [{"path": "docs/n", "text": ""}, {"path": "n", "text": ""}]
        await bench.no("write", "denied", workspace="w", files=both)
        await bench.no("remove", "denied", workspace="w", paths=["doc"])
        await bench.write(**{"docs/n": "x"})
        assert (await bench.ok("commit", workspace="w"))["committed"] is True

    async def test_each_operation_is_granted_by_itself(self) -> None:
        bench = Bench()
        bench.commit(0, **{"a/f": "1", "b/f": "1"})
        bench.grants = [
            Grant(names=("w",), operations=("read",)),
            Grant(names=("w",), operations=("write", "commit"), paths=("a",)),
        ]
        await bench.ok("read", workspace="w", path="b/f")
        await bench.no("write", "denied", workspace="w", files=[{"path": "b/f", "text": ""}])

    async def test_a_commit_may_hold_only_what_may_be_committed(self) -> None:
        bench = Bench()
        bench.commit(0)
        await bench.write(a="1", b="2")
        bench.grants = [
            Grant(names=("w",), operations=("write",)),
            Grant(names=("w",), operations=("commit",), paths=("a",)),
        ]
        told = await bench.no("commit", "denied", workspace="w")
        assert "'b'" in told["detail"] and bench.workspaces.head("w") == 1

    async def test_a_digest_is_no_way_in(self) -> None:
        """Knowing what a file's or a tree's digest is reads nothing and writes nothing by it."""
        bench = Bench()
        bench.commit(0, secret="the secret")
        root = bench.workspaces.must_resolve("w").root
        bench.grants = [Grant(names=("v",))]
        for name in (root.removeprefix("sha256:"), digest_of(b"the secret")[7:]):
            receipt = await bench.call("read", workspace=name, path="secret")
            assert receipt.status == "denied"
        file = {"path": "f", "text": "", "expect": digest_of(b"the secret")}
        told = await bench.no("write", workspace="v", version=0, files=[file])
        assert "the secret" not in json.dumps(told)

    @pytest.mark.parametrize("names", [(), ("a/b",), ("..",), ("",)])
    def test_a_grant_names_workspaces(self, names: tuple[str, ...]) -> None:
        with pytest.raises(ValueError, match=r"names|workspace"):
            Grant(names=names)

    def test_a_grant_s_paths_are_paths(self) -> None:
        with pytest.raises(ValueError, match="path"):
            Grant(names=("w",), paths=("../x",))
