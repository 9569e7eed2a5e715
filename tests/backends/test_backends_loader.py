"""Loading folders of manifests, and the examples we ship."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tools_support import commit_all

from artificer.backends.command.executor import CommandExecutor
from artificer.backends.loader import load_folder
from artificer.errors import ManifestError
from artificer.ports import Call
from command_lines import argv_of
from needs import require

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"

GOOD = '[tool]\nname = "{}"\nversion = "1"\ndescription = "A."\n[command]\nexec = ["true"]\n'


@pytest.mark.req("manifest-folder")
def test_a_folder_is_loaded_in_the_order_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "b.clad.toml").write_text(GOOD.format("first"))
    (tmp_path / "a.clad.toml").write_text(GOOD.format("second"))
    (tmp_path / "notes.toml").write_text("no manifest")
    assert [tool.definition.name for tool in load_folder(tmp_path)] == ["second", "first"]


@pytest.mark.req("manifest-files")
@pytest.mark.parametrize("name", ["a.clad.toml", "toolclad.toml"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / "b.clad.toml").write_text(GOOD.format("b"))
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(ManifestError, match="cannot be read: is not a regular file"):
        load_folder(tmp_path)


@pytest.mark.req("manifest-files")
@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "a = " + "{b=" * 50_000, "a." * 100_000 + "b = 1"]
)
def test_no_nesting_is_too_deep_to_be_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.clad.toml").write_text(text)
    with pytest.raises(ManifestError, match="not valid TOML"):
        load_folder(tmp_path)


@pytest.mark.req("manifest-folder")
def test_the_faults_of_all_files_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "a.clad.toml").write_text("[tool")
    (tmp_path / "b.clad.toml").write_text(GOOD.format("same").replace("version", "verzion"))
    (tmp_path / "c.clad.toml").write_bytes(b"\xff")
    (tmp_path / "d.clad.toml").write_text("#" * 300_000)
    (tmp_path / "e.clad.toml").mkdir()
    (tmp_path / "f.clad.toml").write_text(GOOD.format("same"))
    (tmp_path / "g.clad.toml").write_text(GOOD.format("same"))
    with pytest.raises(ManifestError) as caught:
        load_folder(tmp_path)
    told = caught.value.message
    for words in (
        "a.clad.toml: not valid TOML",
        "b.clad.toml:3: tool.verzion: is not a known key; did you mean 'version'?",
        "b.clad.toml:1: tool.version: is missing",
        "c.clad.toml: is not UTF-8",
        "d.clad.toml: has more than 262144 bytes",
        "e.clad.toml: cannot be read",
        "g.clad.toml: the name 'same' is already taken by",
    ):
        assert words in told
    assert len(told.splitlines()) == 7


@pytest.mark.req("manifest-folder")
def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="is not a folder"):
        load_folder(tmp_path / "nowhere")


RUNS: list[tuple[str, dict[str, Any], str]] = [
    ("word_count", {"file": "notes.md"}, "2 "),
    ("list_files", {"name": "*.md"}, "./notes.md"),
    ("list_folder", {}, "data.json"),
    ("list_folder", {"details": True, "order": "size"}, "total "),
    ("python_version", {}, "Python 3"),
    ("search_text", {"text": "--two", "files": "*.md"}, "notes.md:2:"),
    ("search_text", {"text": "nowhere to be found"}, '"exit_code":1'),
    ("json_tool", {"file": "data.json"}, '"results":{"a":[1]}'),
    ("git_log", {"count": 1}, "a first commit"),
    ("git_log", {"author": "nobody at all", "path": "notes.md"}, '"stdout":""'),
]


@pytest.mark.req("manifest-examples")
@pytest.mark.parametrize(("name", "given", "words"), RUNS)
async def test_the_examples_do_what_they_say(
    name: str, given: dict[str, Any], words: str, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("one\n--two\n")
    (tmp_path / "data.json").write_text(json.dumps({"a": [1]}))
    tools = load_folder(EXAMPLES)
    executor = CommandExecutor(tools, cwd=tmp_path)
    manifest = next(tool.manifest for tool in tools if tool.definition.name == name)
    require(manifest.tool.binary)
    if name == "git_log":
        await commit_all(tmp_path)
    receipt = await executor.execute(Call("r", "c", manifest.definition, given, "k"))
    assert receipt.status == "ok", receipt.content
    assert words in receipt.content


@pytest.mark.req("manifest-examples")
async def test_the_guides_manifest_and_function_work(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "tools.md").read_text()
    (tmp_path / "count.clad.toml").write_text(guide.partition("```toml\n")[2].partition("```")[0])
    (tmp_path / "text").write_text("one two\nthree\n")
    executor = CommandExecutor(load_folder(tmp_path), cwd=tmp_path)
    for given, count in (({"file": "text"}, "2 text"), ({"file": "text", "words": True}, "3 text")):
        receipt = await executor.execute(Call("r", "c", executor.tools[0], given, "k"))
        assert json.loads(receipt.content)["stdout"].strip() == count
    names: dict[str, Any] = {"__name__": "guide"}
    exec(guide.partition("```python\n")[2].partition("```")[0], names)
    assert names["primes"](10) == [2, 3, 5, 7]
    assert names["primes"].definition.input_schema["properties"]["limit"]["maximum"] == 100_000


TYPED = (
    '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'
    '[args.x]\ntype = "hostname"\nrequired = true\nscope_check = true\n'
    '[command]\nexec = ["true", "{x}"]'
)


@pytest.mark.req("manifest-shared")
def test_the_types_and_the_scope_of_the_project_hold_for_its_folder_of_tools(
    tmp_path: Path,
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "t.clad.toml").write_text(TYPED)
    with pytest.raises(ManifestError):
        load_folder(tools)
    shared = '[types.hostname]\nbase = "scope_target"\n[scope]\nallow = ["a.example"]\n'
    (tmp_path / "toolclad.toml").write_text(shared)
    (tool,) = load_folder(tools)
    assert argv_of(tool.manifest, {"x": "a.example"}).argv == ("true", "a.example")
    assert argv_of(tool.manifest, {"x": "b.example"}).problems
    (tools / "toolclad.toml").write_text('[types.hostname]\nbase = "string"\n')
    (tool,) = load_folder(tools)
    assert tool.manifest.scope is None


@pytest.mark.req("manifest-shared")
def test_a_faulty_file_of_the_project_loads_nothing(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "t.clad.toml").write_text(TYPED)
    (tmp_path / "toolclad.toml").write_text("[types.hostname\n")
    with pytest.raises(ManifestError, match=r"toolclad\.toml"):
        load_folder(tools)
