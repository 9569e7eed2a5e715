"""A program that does something else to its call's folder than to write its output there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from artificer.backends.command.executor import CommandExecutor
from artificer.manifests.model import ManifestFile
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call

pytestmark = pytest.mark.req("manifest-attacks")


async def outcome(tmp_path: Path, line: str, *, parser: bool) -> dict[str, Any]:
    """Return what a model reads after a program printed ``{}`` and then ran a line of shell."""
    for name, text in (("run.sh", f"echo '{{}}'\n{line}"), ("parse.sh", 'cat "$1"')):
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
    manifest = parse_manifest(
        '[tool]\nname = "t"\nversion = "1"\ndescription = "d"\n[command]\nexecutor = "./run.sh"\n'
        '[output]\nformat = "json"\n' + ('parser = "./parse.sh"\n' if parser else ""),
        "t.clad.toml",
    )
    tool = ManifestFile(manifest, str(tmp_path / "t.clad.toml"))
    executor = CommandExecutor([tool], cwd=tmp_path, evidence=tmp_path / "evidence")
    receipt = await executor.execute(Call("r", "c", executor.tools[0], {}, "k"))
    read: dict[str, Any] = json.loads(receipt.content)
    return read


LINES = {
    "link": "ln -s $PWD/secret $TOOLCLAD_OUTPUT_DIR/output.json",
    "folder": "mkdir $TOOLCLAD_OUTPUT_DIR/output.json",
    "pipe": "mkfifo $TOOLCLAD_OUTPUT_DIR/output.json",
    "gone": "rm -rf $TOOLCLAD_OUTPUT_DIR",
    "moved": "rm -rf $TOOLCLAD_OUTPUT_DIR; ln -s $PWD/elsewhere $TOOLCLAD_OUTPUT_DIR",
}


@pytest.mark.parametrize("what", LINES)
async def test_what_is_no_file_of_the_program_is_neither_read_nor_written(
    what: str, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text('"the secret"')
    (tmp_path / "elsewhere").mkdir()
    plain = await outcome(tmp_path, LINES[what], parser=False)
    assert (plain["status"], plain["results"]) == ("success", {}), "standard output is what counts"
    parsed = await outcome(tmp_path, f"rm -rf $TOOLCLAD_OUTPUT_DIR/*; {LINES[what]}", parser=True)
    assert parsed["status"] == "error"
    assert parsed["fault"].startswith("the output cannot be given to the parser")
    assert list((tmp_path / "elsewhere").iterdir()) == [], "nothing is written through a link"
