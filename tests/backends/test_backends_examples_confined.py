"""No shipped example leaves its folder, whatever it is given: tried on the real programs."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tools_support import commit_all

from artificer.backends.command.executor import CommandExecutor
from artificer.backends.loader import load_folder
from artificer.backends.session.executor import SessionExecutor
from artificer.contracts.schema import compile_schema
from artificer.manifests.model import ManifestFile
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call, Receipt
from needs import require
from sampling import sample

pytestmark = pytest.mark.req("examples-confined")

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"
TOOLS = {tool.definition.name: tool for tool in load_folder(EXAMPLES)}
OURS = [tool for tool in TOOLS.values() if isinstance(tool, ManifestFile)]

SECRET = "outside-canary-41"

PACKAGES = {"rg": "ripgrep", "ffprobe": "ffmpeg"}


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A folder, beside which are files that nothing may read."""
    inside = tmp_path / "inside"
    for place in (inside, inside / "one", inside / "two", tmp_path / "beside"):
        place.mkdir()
    (tmp_path / "outside.txt").write_text(f"{SECRET}\n")
    (tmp_path / "outside.json").write_text(json.dumps({"secret": SECRET}))
    (tmp_path / "beside" / "deep.txt").write_text(f"{SECRET}\n")
    for place in (tmp_path / "outside.db", inside / "in.db"):
        with sqlite3.connect(place) as database:
            database.execute("create table t (name text)")
            database.execute(
                "insert into t values (?)", ["in" if place.parent == inside else SECRET]
            )
        database.close()
    with tarfile.open(tmp_path / "outside.tar", "w") as tar:
        tar.add(tmp_path / "outside.txt", SECRET)
    with zipfile.ZipFile(tmp_path / "outside.zip", "w") as archive:
        archive.writestr(SECRET, "x")
    (inside / "notes.md").write_text("one\n")
    (inside / "data.json").write_text('{"a": 1}')
    for name in ("one", "two"):
        (inside / name / "same.txt").write_text("same\n")
    (inside / "one" / "link.txt").symlink_to("../../outside.txt")
    (inside / "two" / "link.txt").write_text("nothing\n")
    (inside / "link.db").symlink_to("../outside.db")
    for name in ("list.m3u8", "list.mp4"):
        (inside / name).write_text(
            f"#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:1.0,\n{tmp_path}/outside.ts\n#EXT-X-ENDLIST\n"
        )
    for module in ("json.py", "argparse.py", "zipfile.py", "readline.py", "sqlite3.py"):
        (inside / module).write_text("open('../pwned', 'w').write('x')\n")
    return inside


def needed(tool: ManifestFile) -> None:
    program = tool.manifest.tool.binary
    if not tool.manifest.part.executor:
        require(program)


async def attempt(tool: ManifestFile, folder: Path, given: dict[str, Any]) -> str:
    """All that a call brings, or nothing where it is refused before anything is run."""
    if compile_schema(tool.definition.input_schema).problems(given):
        return ""
    executor = CommandExecutor([tool], cwd=folder, evidence=folder.parent / "evidence")
    receipt: Receipt = await executor.execute(Call("r", "c", tool.definition, given, "k"))
    return receipt.content + (receipt.evidence or "")


def holds(tmp_path: Path, brought: str, *asked: str) -> None:
    """Nothing was read and nothing written outside."""
    for text in asked:
        brought = brought.replace(json.dumps(text)[1:-1], "")
    assert SECRET not in brought
    assert not (tmp_path / "pwned").exists()


WAYS_OUT = (
    "../outside{}",
    "{root}/outside{}",
    "file:../outside{}",
    "file:outside{}",
    "file:%2e%2e/outside{}",
    "file://{root}/outside{}",
    "localhost:{root}/outside{}",
    "concat:../outside{}",
    "subfile,,:{root}/outside{}",
    "-", "--files0-from=../outside{}", "@../outside{}", "+../outside{}", "(", "!", ":/", ":(top)..",
    "-f../outside{}", "x=../outside{}", "|cat ../outside{}", ":memory:", "link{}", "one/link{}",
)  # fmt: skip
WAYS_TRIED = 12
"""So many of them a commit draws for each argument of a tool."""

AT_ONCE = 4

ENDINGS = {"sqlite_query": ".db", "tar_list": ".tar", "zip_list": ".zip", "json_tool": ".json"}
OTHERS: dict[str, dict[str, Any]] = {
    "diff_files": {"old": "notes.md", "new": "notes.md"},
    "ffmpeg_convert": {"input": "notes.md", "output": "made.mp4"},
    "jq_query": {"filter": "., input_filename", "raw": True},
    "search_text": {"text": "canary"},
    "ripgrep": {"pattern": "canary"},
    "sqlite_query": {"query": "select * from t"},
}


@pytest.mark.parametrize("name", sorted(TOOLS))
async def test_no_path_leads_out(name: str, folder: Path) -> None:
    tool = TOOLS[name]
    paths = [a for a in tool.manifest.arguments if a.type == "path"]
    if not paths:
        return
    needed(tool)
    if name.startswith("git"):
        await commit_all(folder)
    tried = []
    for argument in paths:
        for way in sample(WAYS_OUT, WAYS_TRIED, purpose=(name, argument.name)):
            text = way.replace("{root}", str(folder.parent))
            text = text.replace("{}", ENDINGS.get(name, ".txt"))
            value = [text] if argument.list else text
            tried.append({**OTHERS.get(name, {}), argument.name: value})
    for n in range(0, len(tried), AT_ONCE):
        some = [attempt(tool, folder, given) for given in tried[n : n + AT_ONCE]]
        for brought in await asyncio.gather(*some):
            holds(folder.parent, brought)


@pytest.mark.parametrize(
    "way",
    [
        'import "outside" as $s {search:"../"}; $s',
        'import "outside" as $s {search:"ROOT"}; $s',
        ' \n import "outside" as $s {search:"../"}; $s',
        '# import\nimport "outside" as $s {search:"../"}; $s',
        'module {a: 1}; import "outside" as $s {search:"../"}; $s',
        '; import "outside" as $s {search:"../"}; $s',
        'def a: 1; import "outside" as $s {search:"../"}; $s',
        'include "outside" {search:"../"}; .',
        '"../outside" | modulemeta',
        "$ENV.SECRET_OF_TESTS",
        "env",
        "[., input_filename, $__loc__, get_search_list]",
    ],
)
async def test_jq_reads_its_own_file_alone(
    way: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed(TOOLS["jq_query"])
    monkeypatch.setenv("SECRET_OF_TESTS", SECRET)
    text = way.replace("ROOT", str(folder.parent))
    brought = await attempt(TOOLS["jq_query"], folder, {"filter": text, "file": "data.json"})
    holds(folder.parent, brought)


QUERIES = (
    "select data from fsdir('ROOT/outside.txt')",
    "select data from fsdir where path = 'ROOT/outside.txt'",
    "select * from zipfile('ROOT/outside.zip')",
    "select readfile('../outside.txt')",
    "select writefile('../pwned', 'x')",
    "select edit('x', 'touch ../pwned')",
    "select load_extension('../pwned')",
    "select 1; attach 'ROOT/outside.db' as o; select * from o.t",
    "with x as (select 1) insert into t values (1)",
    "select 1; vacuum into '../pwned'",
    "select 1;\n.shell touch ../pwned",
    "select * from pragma_database_list",
    "values (1); .read ../outside.txt",
)


@pytest.mark.parametrize("query", QUERIES)
async def test_sql_reads_its_own_database_alone(query: str, folder: Path) -> None:
    text = query.replace("ROOT", str(folder.parent))
    brought = await attempt(TOOLS["sqlite_query"], folder, {"database": "in.db", "query": text})
    holds(folder.parent, brought, text)
    after = await attempt(
        TOOLS["sqlite_query"], folder, {"database": "in.db", "query": "select count(*) n from t"}
    )
    assert '{\\"n\\": 1}' in after or '"n":1' in after


@pytest.mark.parametrize("query", [*QUERIES, "ATTACH 'ROOT/outside.db' AS o;"])
async def test_a_session_of_sql_reads_its_own_database_alone(query: str, folder: Path) -> None:
    file = EXAMPLES / "sqlite_session.clad.toml"
    manifest = parse_manifest(file.read_text(), file.name)
    executor = SessionExecutor([manifest], cwd=folder)
    text = query.replace("ROOT", str(folder.parent)).replace("\n", " ") + ";"
    try:
        for tool in executor.tools:
            given = {"command": text}
            if compile_schema(tool.input_schema).problems(given):
                continue
            receipt = await executor.execute(Call("r", "c", tool, given, "k"))
            holds(folder.parent, receipt.content, text)
    finally:
        await executor.release("r")


async def test_a_session_of_python_runs_no_file_of_the_folder(folder: Path) -> None:
    file = EXAMPLES / "python_session.clad.toml"
    executor = SessionExecutor([parse_manifest(file.read_text(), file.name)], cwd=folder)
    show = next(tool for tool in executor.tools if tool.name == "python.show")
    try:
        receipt = await executor.execute(Call("r", "c", show, {"name": "__name__"}, "k"))
    finally:
        await executor.release("r")
    assert "__main__" in receipt.content
    holds(folder.parent, receipt.content)


async def test_folders_are_compared_without_following_their_links(folder: Path) -> None:
    needed(TOOLS["diff_files"])
    holds(folder.parent, await attempt(TOOLS["diff_files"], folder, {"old": "one", "new": "two"}))


@pytest.mark.parametrize("name", ["ffprobe", "ffmpeg_convert"])
@pytest.mark.parametrize("file", ["list.m3u8", "list.mp4"])
async def test_no_playlist_is_followed(name: str, file: str, folder: Path) -> None:
    tool = TOOLS[name]
    needed(tool)
    maker = ManifestFile(
        parse_manifest(
            '[tool]\nname = "make"\nversion = "1"\ndescription = "Make a sound."\n'
            '[command]\nexec = ["ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i",'
            ' "sine=d=1", "-y", "../outside.ts"]',
            "make.clad.toml",
        ),
        "make.clad.toml",
    )
    await attempt(maker, folder, {})
    assert (folder.parent / "outside.ts").exists()
    given = {"file": file} if name == "ffprobe" else {"input": file, "output": "made.mp3"}
    brought = await attempt(tool, folder, given)
    assert '"nb_streams"' not in brought
    assert not (folder / "made.mp3").exists()


async def test_a_revision_is_no_path(folder: Path) -> None:
    needed(TOOLS["git_diff"])
    for revision in ("x/../../outside.txt", "notes.md", "HEAD"):
        given = {"revision": revision, "paths": ["notes.md"]}
        holds(folder.parent, await attempt(TOOLS["git_diff"], folder, given))  # no repository
    await commit_all(folder)
    for revision in ("x/../../outside.txt", "notes.md"):
        brought = await attempt(TOOLS["git_diff"], folder, {"revision": revision})
        holds(folder.parent, brought)
        assert '"status":"error"' in brought


async def test_what_lies_above_in_the_repository_is_not_shown(folder: Path) -> None:
    needed(TOOLS["git_show"])
    root = folder.parent
    await commit_all(root)
    (root / "outside.txt").write_text(f"{SECRET} more\n")
    for name, given in (("git_show", {}), ("git_diff", {}), ("git_diff", {"paths": [":/"]})):
        holds(root, await attempt(TOOLS[name], folder, given))
    status = await attempt(TOOLS["git_status"], folder, {})
    assert "outside.txt" not in status


async def test_asking_git_runs_and_changes_nothing(folder: Path) -> None:
    needed(TOOLS["git_status"])
    await commit_all(folder)
    with (folder / ".git" / "config").open("a") as config:
        config.write(
            '[core]\n\tfsmonitor = "touch ../pwned; false"\n[log]\n\tshowSignature = true\n'
        )
    index = (folder / ".git" / "index").read_bytes()
    os.utime(folder / "notes.md", (1, 1))  # git would write down that it is as it was
    for name in ("git_status", "git_diff", "git_log", "git_show"):
        holds(folder.parent, await attempt(TOOLS[name], folder, {}))
    assert (folder / ".git" / "index").read_bytes() == index


def test_what_strangers_wrote_is_not_trusted() -> None:
    network = {t.definition.name: t.definition for t in load_folder(EXAMPLES / "network")}
    for name in ("curl_fetch", "dig_lookup", "whois_lookup", "nmap_scan", "nikto_scan"):
        assert network[name].trust == "untrusted"
