"""The file tools of a worktree."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from git_project import write

from artificer.build.files import MAX_READ, WorktreeFiles
from artificer.contracts.schema import compile_schema
from artificer.loops.table import LOOPS, Means
from artificer.ports import Call

pytestmark = pytest.mark.req("build-files")

ALL: frozenset[Means] = frozenset({"read", "write"})


async def use(
    root: Path, tool: str, means: frozenset[Means] = ALL, **arguments: Any
) -> tuple[str, dict[str, Any]]:
    executor = WorktreeFiles(root, means)
    (definition,) = [t for t in executor.tools if t.name == tool]
    assert compile_schema(definition.input_schema).problems(arguments) == ()
    call = Call(run="r", id="c", definition=definition, arguments=arguments, key="k")
    receipt = await executor.execute(call)
    return receipt.status, json.loads(receipt.content)


def test_only_a_code_run_is_offered_tools_that_write(tmp_path: Path) -> None:
    for kind, loop in LOOPS.items():
        names = {tool.name for tool in WorktreeFiles(tmp_path, loop.means).tools}
        assert {"files.list", "files.read", "files.search"} <= names
        assert ("files.write" in names) == (kind == "code")


async def test_files_are_written_read_edited_listed_searched_and_removed(tmp_path: Path) -> None:
    assert await use(tmp_path, "files.write", path="src/a.py", text="x = 1\ny = 2\n") == (
        "ok",
        {"written": "src/a.py", "lines": 2},
    )
    status, told = await use(tmp_path, "files.edit", path="src/a.py", old="y = 2", new="y = 3")
    assert (status, told["line"]) == ("ok", 2)
    _, read = await use(tmp_path, "files.read", path="src/a.py")
    assert read == {"text": "x = 1\ny = 3\n", "line": 1, "lines": 2}
    write(tmp_path, {"b.txt": "y = 3", ".git/config": "y = 3", "node_modules/m.js": "y = 3"})
    _, listed = await use(tmp_path, "files.list")
    assert [entry["path"] for entry in listed["files"]] == ["b.txt", "src/a.py"]
    _, found = await use(tmp_path, "files.search", text="y = 3")
    assert [match["at"] for match in found["matches"]] == ["b.txt:1", "src/a.py:2"]
    await use(tmp_path, "files.remove", path="src/a.py")
    assert not (tmp_path / "src/a.py").exists()
    assert (await use(tmp_path, "files.read", path="src/a.py"))[0] == "error"


async def test_a_long_file_is_read_in_pieces(tmp_path: Path) -> None:
    text = "".join(f"line {n} {'x' * 100}\n" for n in range(1_000))
    write(tmp_path, {"long.txt": text})
    read, line = "", 1
    while line:
        _, told = await use(tmp_path, "files.read", path="long.txt", line=line)
        assert len(told["text"]) <= MAX_READ
        read, line = read + told["text"], told.get("next", 0)
    assert read == text


@pytest.mark.parametrize(("old", "told"), [("no", "not in"), ("a", "2 times")])
async def test_an_edit_that_is_not_of_one_place_changes_nothing(
    tmp_path: Path, old: str, told: str
) -> None:
    write(tmp_path, {"f": "a a"})
    status, answer = await use(tmp_path, "files.edit", path="f", old=old, new="b")
    assert status == "error" and told in answer["detail"]
    assert (tmp_path / "f").read_text() == "a a"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", ".git/config", ".GIT/x", "a/../../x"])
@pytest.mark.parametrize("tool", ["files.read", "files.write", "files.remove"])
async def test_a_path_that_leads_out_or_into_git_is_refused(
    tmp_path: Path, path: str, tool: str
) -> None:
    root = tmp_path / "root"
    write(root, {".git/config": "x"})
    write(tmp_path, {"x": "kept"})
    more = {"text": "y"} if tool == "files.write" else {}
    status, answer = await use(root, tool, path=path, **more)
    assert status == "invalid" and answer["problems"][0]["pointer"] == "/path"
    assert (tmp_path / "x").read_text() == "kept"
    assert (root / ".git/config").read_text() == "x"


@pytest.mark.parametrize("tool", ["files.read", "files.write", "files.remove"])
async def test_a_link_leads_nowhere_outside(tmp_path: Path, tool: str) -> None:
    root, out = tmp_path / "root", tmp_path / "out"
    write(root, {"a": "1"})
    write(out, {"secret": "s"})
    (root / "link").symlink_to(out)
    (root / "up").symlink_to("../out")
    (root / "file").symlink_to(out / "secret")
    more = {"text": "y"} if tool == "files.write" else {}
    for path in ("link/secret", "up/secret", "up/new/deep", "file"):
        status, answer = await use(root, tool, path=path, **more)
        if (tool, path) == ("files.remove", "file"):
            assert status == "ok", "the link itself may go"
        else:
            assert status == "error", (path, answer)
    assert (out / "secret").read_text() == "s" and not (out / "new").exists()
    _, listed = await use(root, "files.list")
    assert "link/secret" not in [entry["path"] for entry in listed["files"]]
    _, found = await use(root, "files.search", text="s")
    assert found["matches"] == []


async def test_a_program_stays_one_when_it_is_written_again(tmp_path: Path) -> None:
    write(tmp_path, {"run.sh": "1"})
    (tmp_path / "run.sh").chmod(0o755)
    await use(tmp_path, "files.write", path="run.sh", text="2")
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == ["run.sh"]
