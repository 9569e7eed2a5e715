"""Every row of the attacks in ``docs/manifests.md`` that is about commands, by its number.

Rows 5 to 10 are about HTTP and are held in ``test_backends_http*.py``.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tools_support import LONGER_S, WRITER, names_in, size, standard_input, stays

from artificer.backends.command.executor import CommandExecutor
from artificer.backends.command.spec.section import bind_command
from artificer.contracts.definition import toolset
from artificer.contracts.schema import compile_schema
from artificer.core.gate import judge
from artificer.core.policy import Policy
from artificer.errors import ManifestError
from artificer.manifests.model import Manifest, ManifestFile
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call, Receipt
from artificer.values.blocks import ToolUseBlock
from command_lines import argv_of

pytestmark = pytest.mark.req("manifest-attacks")

HEAD = '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'


def manifest_of(text: str) -> Manifest:
    return parse_manifest(HEAD + text, "t.clad.toml")


def one(kind: str, command: str, more: str = "") -> Manifest:
    return manifest_of(f'[args.x]\ntype = "{kind}"\nrequired = true\n{more}\n[command]\n{command}')


def refused(manifest: Manifest, **given: Any) -> bool:
    """Whether the gate or the binding of values refuses a call."""
    schema = compile_schema(manifest.input_schema)
    return bool(schema.problems(given)) or bool(argv_of(manifest, given).problems)


async def run(manifest: Manifest, folder: Path, seconds: float = 20, **given: Any) -> Receipt:
    executor = CommandExecutor([ManifestFile(manifest, "t.clad.toml")], cwd=folder)
    definition = executor.tools[0].replace(timeout_ms=round(seconds * 1000))
    return await executor.execute(Call("run-1", "call-1", definition, given, "key"))


def content_of(receipt: Receipt) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(receipt.content)
    return value


def python(text: str) -> str:
    return f"exec = {json.dumps([sys.executable, '-c', text])}"


# --- argument vectors -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["path", "string"])
def test_row_01_a_value_is_no_option(kind: str) -> None:
    assert refused(one(kind, 'exec = ["ls", "{x}"]'), x="--version")


def test_row_02_a_url_smuggles_no_options() -> None:
    manifest = one("url", "template = \"curl -s -w '%{{http_code}}' {x}\"")
    assert refused(manifest, x="http://h/ -o PWNED")
    assert refused(manifest, x="http://h/ --data-binary @/etc/hostname")
    assert argv_of(manifest, {"x": "http://h/?a=1&b=[2]"}).argv == (
        "curl", "-s", "-w", "%{http_code}", "http://h/?a=1&b=[2]",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["scope_target", "ip_address"])
def test_row_03_a_zone_id_smuggles_nothing(kind: str) -> None:
    manifest = one(kind, 'template = "whois {x}"')
    assert refused(manifest, x="fe80::1%x --flood y")
    assert refused(manifest, x="fe80::1%eth0")


@pytest.mark.parametrize("value", ["a' --evil 'b", "it's", "a\\b", "x   y", '"', "$(id)"])
def test_row_04_quotes_are_nothing_to_a_value(value: str) -> None:
    assert argv_of(one("string", "template = \"echo '{x}'\""), {"x": value}).argv == ("echo", value)


def test_row_21_what_no_program_can_be_given_is_refused() -> None:
    manifest = one("string", 'exec = ["echo", "{x}"]')
    for value in ("a\0b", "x" * 200_000, "\ud800"):
        assert refused(manifest, x=value)


def test_row_22_metacharacters_newlines_and_lookalikes_are_no_targets() -> None:
    manifest = one("scope_target", 'exec = ["dig", "{x}"]')
    for value in ("a\nb", "a;b", "$HOME", "a|b", "ex\u0430mple.org", "xn--e1afmkfd.org"):
        assert refused(manifest, x=value)
    assert refused(one("url", 'exec = ["curl", "{x}"]'), x="http://ex\u0430mple.org/")


@pytest.mark.parametrize(
    "url",
    ["http://[::1]evil.com/", "http://a.com\\@b.com/", "http://a@b/",
     "http://[::1]:80:90/", "http://2130706433/", "http://0x7f.1/", "http://[fe80::1%25x]/",
     "http:a.com", "http:///a.com"],
)  # fmt: skip
def test_what_two_programs_read_differently_is_no_url(url: str) -> None:
    assert refused(one("url", 'exec = ["curl", "{x}"]'), x=url)


def test_row_25_null_and_booleans_are_no_text() -> None:
    manifest = one("string", 'exec = ["echo", "{x}"]')
    for value in (None, True, 1, ["a"], {"a": 1}):
        assert refused(manifest, x=value)


def test_row_26_unknown_arguments_and_misspelt_keys_are_told() -> None:
    assert refused(one("string", 'exec = ["echo", "{x}"]'), x="a", evil="b")
    with pytest.raises(ManifestError, match="did you mean 'required'"):
        manifest_of('[args.x]\nrequried = true\n[command]\nexec = ["echo", ["{x}"]]')


def test_row_27_numbers_and_durations_are_exact() -> None:
    assert refused(one("duration", 'exec = ["sleep", "{x}"]'), x="5m\n")
    for value in ("٣", "1_000", "5", 1.5, 2**60):
        assert refused(one("integer", 'exec = ["sleep", "{x}"]'), x=value)


def test_row_28_no_argument_chooses_the_program() -> None:
    with pytest.raises(ManifestError, match="no argument may choose it"):
        one("string", 'exec = ["{x}", "-u"]')
    with pytest.raises(ManifestError, match="no argument may choose it"):
        one("string", 'template = "{x} -u"')


# --- manifests --------------------------------------------------------------------------------


def test_row_18_patterns_run_in_linear_time() -> None:
    manifest = one("string", 'exec = ["echo", "{x}"]', 'pattern = "(a+)+"')
    started = time.process_time()
    assert refused(manifest, x="a" * 30_000 + "b")
    assert time.process_time() - started < 5  # a backtracking engine needs longer than the sun has
    with pytest.raises(ManifestError, match="linear time"):
        one("string", 'exec = ["echo", "{x}"]', 'pattern = "(a)\\\\1"')


@pytest.mark.parametrize(
    "argument",
    [
        'type = "integer"\ndefault = "; rm -rf"',
        'type = "enum"\nallowed = ["a"]\ndefault = "b"',
        'type = "enum"\nallowed = ["a", "b"]\npattern = "b"\ndefault = "a"',
        'type = "port"\ndefault = 0',
        'type = "path"\ndefault = "../x"',
        'default = "--flag"',
    ],
)
def test_row_23_a_default_is_held_to_its_own_type(argument: str) -> None:
    with pytest.raises(ManifestError, match="default"):
        manifest_of(f'[args.x]\n{argument}\n[command]\nexec = ["echo", "{{x}}"]')


def test_row_24_limits_are_in_order_and_clamping_is_told() -> None:
    with pytest.raises(ManifestError, match="10 is more than max, 1"):
        one("integer", 'exec = ["p", "{x}"]', "min = 10\nmax = 1\nclamp = true")
    manifest = one("integer", 'exec = ["p", "{x}"]', "min = 1\nmax = 10\nclamp = true")
    assert bind_command(manifest, {"x": 999_999}).notes


@pytest.mark.parametrize("seconds", ["0", "-1", '"3"', "1.5", "true"])
def test_row_32_a_timeout_is_a_number_of_seconds(seconds: str) -> None:
    with pytest.raises(ManifestError, match=r"tool\.timeout_seconds"):
        manifest_of(f'timeout_seconds = {seconds}\n[command]\nexec = ["true"]')


def test_row_30_a_tools_name_is_no_path() -> None:
    text = (HEAD + '[command]\nexec = ["true"]').replace('"t"', '"../../../x"')
    for compat in (False, True):
        with pytest.raises(ManifestError, match=r"tool\.name"):
            parse_manifest(text, "t.clad.toml", compat=compat)


def test_the_gate_refuses_before_anything_is_built() -> None:
    manifest = one("integer", 'exec = ["echo", "{x}"]')
    call = ToolUseBlock(id="c", name="t", arguments='{"x": "5"}')
    tools = toolset((manifest.definition,))
    (verdict,) = judge((call,), toolset=tools, policy=Policy(), made=(), limit=8, stop="tool_use")
    assert verdict.verdict == "invalid"


# --- running ----------------------------------------------------------------------------------


async def test_row_11_no_secret_reaches_a_program(tmp_path: Path) -> None:
    os.environ |= {"OPENAI_API_KEY": "sk-x", "TOOLCLAD_SECRET_A": "sk-y"}
    try:
        printed = (await run(manifest_of('[command]\nexec = ["env"]'), tmp_path)).content
    finally:
        del os.environ["OPENAI_API_KEY"], os.environ["TOOLCLAD_SECRET_A"]
    assert "sk-" not in printed


async def test_row_12_standard_input_is_not_ours(tmp_path: Path) -> None:
    with standard_input(b"for us\n"):
        receipt = await run(manifest_of('[command]\nexec = ["head", "-1"]'), tmp_path)
        assert os.read(0, 100) == b"for us\n"
    assert content_of(receipt)["stdout"] == ""


async def test_row_13_links_lead_no_path_out(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("/etc/passwd")
    receipt = await run(one("path", 'exec = ["cat", "--", "{x}"]'), tmp_path, x="x")
    assert receipt.status == "invalid"
    assert "root:" not in receipt.content


@pytest.mark.parametrize("path", ["file:///etc/passwd", "http://evil/", "a://b", "x/ssh://h/r"])
def test_a_path_is_no_url(path: str) -> None:
    assert refused(one("path", 'exec = ["git", "clone", "--", "{x}"]'), x=path)


async def test_row_15_what_ignores_the_request_to_end_is_ended(tmp_path: Path) -> None:
    text = (
        "import os, signal, sys\nsignal.signal(15, signal.SIG_IGN)\nsys.argv.append('file')\n"
        "for _ in range(20):\n  if os.fork() == 0: break\n" + WRITER
    )
    for seconds in LONGER_S:
        receipt = await run(manifest_of(f"[command]\n{python(text)}"), tmp_path, seconds=seconds)
        assert receipt.status == "timeout"
        if size(tmp_path / "file"):
            break
    assert await stays(tmp_path / "file")


@pytest.mark.parametrize("then", ["time.sleep(60)", "time.sleep(0.5)"])
async def test_row_16_a_session_of_its_own_is_no_escape(then: str, tmp_path: Path) -> None:
    text = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {WRITER!r}, 'file'], start_new_session=True)\n"
        f"while not __import__('os').path.exists('file'): time.sleep(0.01)\n{then}"
    )
    manifest = manifest_of(f"[command]\n{python(text)}")
    for seconds in LONGER_S if "60" in then else (60,):
        receipt = await run(manifest, tmp_path, seconds=seconds)
        assert receipt.status == ("timeout" if "60" in then else "ok")
        if size(tmp_path / "file"):
            break
    assert await stays(tmp_path / "file")


async def test_row_17_what_was_printed_before_a_timeout_is_kept(tmp_path: Path) -> None:
    text = "import os, time; os.write(1, b'out\\n'); os.write(2, b'err\\n'); time.sleep(60)"
    for seconds in LONGER_S:
        receipt = await run(manifest_of(f"[command]\n{python(text)}"), tmp_path, seconds=seconds)
        content = content_of(receipt)
        if content["stderr"]:
            break
    assert (content["status"], content["stdout"], content["stderr"]) == (
        "timeout", "out\n", "err\n",
    )  # fmt: skip


@pytest.mark.parametrize("raw", [b"ok\xff", b"a\r\nb"])
async def test_rows_19_and_20_bytes_are_hashed_as_they_came(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(raw)
    receipt = await run(manifest_of('[command]\nexec = ["cat", "raw"]'), tmp_path)
    assert content_of(receipt)["stdout"] == raw.decode("utf-8", "replace")
    digest = json.loads(receipt.evidence or "")["output_hash"]
    assert digest == "sha256:" + hashlib.sha256(raw).hexdigest()


async def test_row_21_a_missing_program_is_an_error(tmp_path: Path) -> None:
    receipt = await run(manifest_of('[command]\nexec = ["no-such-program"]'), tmp_path)
    assert content_of(receipt)["fault"].startswith("no-such-program could not be started")


async def test_row_29_every_call_has_a_folder_and_an_id_of_its_own(tmp_path: Path) -> None:
    manifest = manifest_of('[command]\nexec = ["echo", "{_output_file}", "{_scan_id}"]')
    executor = CommandExecutor([ManifestFile(manifest, "t")], cwd=tmp_path, evidence=tmp_path / "e")
    definition = executor.tools[0]
    printed = set()
    for call in ("one", "two"):
        receipt = await executor.execute(Call("run-1", call, definition, {}, "k"))
        file, scan_id = content_of(receipt)["stdout"].split()
        assert Path(file).parent == tmp_path / "e" / "run-1" / scan_id
        assert json.loads(receipt.evidence or "")["scan_id"] == scan_id
        printed.add(file)
    assert len(printed) == 2
    assert len(names_in(tmp_path / "e" / "run-1")) == 2


@pytest.mark.parametrize(
    ("kind", "printed"),
    [
        ("csv", "a,b\n1,2,3\n"),
        ("json", "NaN"),
        ("json", "{"),
        ("jsonl", "{}\n{"),
        ("xml", '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>'),
        ("json", "[" * 200_000),
    ],
)
async def test_rows_31_and_33_what_cannot_be_read_is_told_with_the_output(
    kind: str, printed: str, tmp_path: Path
) -> None:
    (tmp_path / "raw").write_text(printed)
    manifest = manifest_of(f'[command]\nexec = ["cat", "raw"]\n[output]\nformat = "{kind}"')
    receipt = await run(manifest, tmp_path)
    content = content_of(receipt)
    assert content["status"] == "error"
    assert content["exit_code"] == 0
    assert content["fault"]
    assert content["stdout"][:100] == printed[:100]


async def test_a_grandchild_that_holds_the_pipe_delays_nothing(tmp_path: Path) -> None:
    """Section 2: the reference waits for it until the timeout."""
    text = "import subprocess; subprocess.Popen(['sleep', '60']); print('done')"
    started = asyncio.get_running_loop().time()
    receipt = await run(manifest_of(f"[command]\n{python(text)}"), tmp_path, seconds=50)
    assert content_of(receipt)["stdout"] == "done\n"
    assert asyncio.get_running_loop().time() - started < 30
