"""The example manifests do what they say: on real programs, where those are installed."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tools_support import commit_all

from artificer.backends.command.executor import CommandExecutor
from artificer.backends.command.spec.section import bind_command, command_line
from artificer.backends.loader import load_folder
from artificer.contracts.schema import compile_schema
from artificer.manifests.model import ManifestFile
from artificer.ports import Call, Receipt
from needs import require

pytestmark = pytest.mark.req("manifest-examples")

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"
TOOLS = {
    tool.definition.name: tool
    for folder in (EXAMPLES, EXAMPLES / "network")
    for tool in load_folder(folder)
}

RUNS: list[tuple[str, dict[str, Any], str]] = [
    ("git_status", {}, "?? new.txt"),
    ("git_status", {"path": "notes.md"}, "## "),
    ("git_diff", {"context": 999}, "+three"),
    ("git_diff", {"staged": True, "paths": ["notes.md"]}, '"stdout":""'),
    ("git_diff", {"revision": "HEAD"}, "+three"),
    ("git_show", {}, "a first commit"),
    ("git_show", {"what": "stat"}, "create mode"),
    ("ripgrep", {"pattern": "t[wh]", "globs": ["*.md"]}, "notes.md:2:--two"),
    ("jq_query", {"filter": ".items[] | .n", "file": "data.json"}, '"results":[1,2]'),
    ("sqlite_query", {"database": "a.db", "query": "select name from t"}, "it's"),
    ("sqlite_query", {"database": "a.db", "query": "select 1 from nowhere"}, '"status":"error"'),
    ("sqlite_query", {"database": "a.db", "query": "with x as (select 1) delete from t"}, "error"),
    ("tar_list", {"archive": "a.tar"}, "notes.md"),
    ("tar_list", {"archive": "a.tar", "details": True}, "rw"),
    ("sort_lines", {"file": "numbers", "by": "number", "reverse": True}, "10 b\\n9 a"),
    ("sort_lines", {"file": "numbers", "column": 2, "separator": " "}, "9 a\\n10 b"),
    ("head_lines", {"file": "numbers", "count": 1}, '"stdout":"9 a\\n"'),
    ("diff_files", {"old": "notes.md", "new": "numbers"}, "+9 a"),
    ("diff_files", {"old": "numbers", "new": "numbers", "ignore": ["case", "blanks"]}, '"exit'),
    ("disk_usage", {"depth": 0}, '"path":"."'),
    ("checksum", {"files": ["numbers", "data.json"]}, "data.json"),
    ("file_facts", {"file": "numbers"}, '"bytes":"9"'),
    ("zip_list", {"archive": "a.zip"}, "notes.md"),
    ("line_lengths", {"file": "notes.md", "width": 4}, '{"lines":3,"long":2,"longest":5}'),
]


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.md").write_text("one\n--two\n")
    (tmp_path / "numbers").write_text("9 a\n10 b\n")
    (tmp_path / "data.json").write_text('{"items": [{"n": 1}, {"n": 2}]}')
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("create table t (name text)")
        database.execute("insert into t values ('it''s')")
    database.close()
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(tmp_path / "notes.md", "notes.md")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "notes.md", "notes.md")
    if shutil.which("git"):
        await commit_all(tmp_path)
    (tmp_path / "notes.md").write_text("one\n--two\nthree\n")
    (tmp_path / "new.txt").touch()
    return tmp_path


async def perform(tool: ManifestFile, folder: Path, given: dict[str, Any]) -> Receipt:
    executor = CommandExecutor([tool], cwd=folder, evidence=folder / ".evidence")
    assert compile_schema(tool.definition.input_schema).problems(given) == ()
    return await executor.execute(Call("run-1", "c", tool.definition, given, "k"))


@pytest.mark.parametrize(("name", "given", "words"), RUNS)
async def test_they_do_what_they_say(
    name: str, given: dict[str, Any], words: str, folder: Path
) -> None:
    tool = TOOLS[name]
    if not tool.manifest.part.executor:
        require(tool.manifest.tool.binary)
    receipt = await perform(tool, folder, given)
    assert receipt.status == ("error" if "error" in words else "ok"), receipt.content
    assert words in receipt.content


def argv_of(tool_name: str, /, **given: Any) -> tuple[str, ...]:
    tool = TOOLS[tool_name]
    assert compile_schema(tool.definition.input_schema).problems(given) == ()
    places = {"_scan_id": "ID", "_evidence_dir": "DIR", "_output_file": "FILE"}
    built = command_line(tool.manifest, bind_command(tool.manifest, given), places)
    return built.argv or tuple(p.message for p in built.problems)


def test_the_formats_own_examples_build_what_they_mean() -> None:
    """Facts of the five examples that the format comes with, in words of our own."""
    assert argv_of("nmap_scan", target="scanme.nmap.org", ports="22,80-90", rate=99_999) == (
        *("nmap", "-sT", "-sV", "-p", "22,80-90", "--max-rate", "1000"),
        *("-oX", "FILE", "scanme.nmap.org"),
    )
    assert argv_of("nmap_scan", target="127.0.0.0/30", profile="ping", ports="22") == (
        *("nmap", "-sn", "--max-rate", "100", "-oX", "FILE", "127.0.0.0/30"),
    )
    assert argv_of("nmap_scan", target="8.8.8.8") == ("is out of scope",)
    assert argv_of("whois_lookup", target="www.example.com") == ("whois", "--", "www.example.com")
    assert argv_of("whois_lookup", target="intranet.example.com") == ("is blocked by the scope",)
    assert argv_of("dig_lookup", name="example.com", type="MX", server="::1") == (
        *("dig", "+short", "+time=5", "+tries=1", "@::1", "-t", "MX", "-q", "example.com"),
    )
    fetch = argv_of("curl_fetch", url="https://www.example.com/?a=1&b=2")
    assert fetch[-4:] == (
        "--write-out", r"\nHTTP %{http_code}\n", "--", "https://www.example.com/?a=1&b=2",
    )  # fmt: skip
    assert argv_of("curl_fetch", url="https://example.org/") == ("is out of scope",)
    assert argv_of("nikto_scan", target="example.com", tls=False, most="5m")[4:] == (
        *("example.com", "-port", "443", "-nossl", "-maxtime", "5m"),
        *("-Format", "json", "-output", "FILE"),
    )


def test_examples_within_manifests_hold() -> None:
    held = 0
    for tool in TOOLS.values():
        for example in tool.manifest.examples:
            if example.argv is not None:
                assert argv_of(tool.definition.name, **example.args) == example.argv
                held += 1
    assert held


def test_programs_that_may_not_be_here_are_told_exactly_what_to_do() -> None:
    assert argv_of("ffmpeg_convert", input="a b.mov", output="c.mp4", start="90s", width=640) == (
        *("ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "warning", "-y", "-ss", "90s"),
        *("-protocol_whitelist", "file", "-format_whitelist"),
        "mov,matroska,webm,avi,mpegts,mpeg,flv,ogg,mp3,wav,flac,aac,gif",
        *("-i", "file:a b.mov", "-vf", "scale=640:-2", "file:c.mp4"),
    )
    assert argv_of("kubectl_get", resource="pods", everywhere=True) == (
        *("kubectl", "get", "pods", "--all-namespaces", "--output=json"),
        "--request-timeout=30s",
    )
    assert argv_of("kubectl_get", resource="pods", everywhere=True, namespace="a")[3] == (
        "--namespace=a"
    )
    problems = compile_schema(TOOLS["kubectl_get"].definition.input_schema).problems
    assert problems({"resource": "pods", "name": "--server=http://evil"})


def test_there_are_at_least_twenty_and_each_has_a_strict_schema() -> None:
    assert len(TOOLS) >= 25
    for tool in TOOLS.values():
        assert tool.definition.input_schema["additionalProperties"] is False
        json.dumps(tool.manifest.output_schema)
