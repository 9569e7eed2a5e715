"""Programs in a sandbox, for real: every sandbox that works on this machine, or none is tested."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from artificer.backends.command.executor import CommandExecutor
from artificer.backends.sandbox.bubblewrap import find_bubblewrap
from artificer.backends.sandbox.finding import SandboxFinding
from artificer.backends.sandbox.grants import Grants
from artificer.backends.sandbox.landlock import find_landlock, finding_of
from artificer.backends.sandbox.sandbox import Sandbox, choose
from artificer.backends.session.executor import SessionExecutor
from artificer.errors import ConfigError, ManifestError
from artificer.manifests.model import Manifest, ManifestFile
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call, Receipt
from needs import require

FOUND = {finding.name: finding for finding in (find_bubblewrap(), find_landlock())}


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> SandboxFinding:
    """Each sandbox in turn."""
    finding = FOUND[request.param]
    if not finding.works:
        if finding.name == "bubblewrap":
            require("bwrap")
        pytest.skip(f"{finding.name}: {finding.detail}; {finding.hint}")
    return finding


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder that tools run in, with one that is granted and a neighbour that is not."""
    root = tmp_path / "root"
    (root / "out").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("the key")
    yield root


def manifest_of(command: str, tool: str = "", more: str = "") -> Manifest:
    """A tool that runs a line of shell: the command is its author's, not a model's."""
    head = f'[tool]\nname = "t"\nversion = "1"\ndescription = "d"\ntimeout_seconds = 20\n{tool}\n'
    line = json.dumps(["sh", "-c", command])
    return parse_manifest(f"{head}\n[command]\nexec = {line}\n{more}", "t.clad.toml")


async def run(
    sandbox: SandboxFinding, folder: Path, manifest: Manifest, file: str = "", **grants: Any
) -> tuple[Receipt, dict[str, Any]]:
    """Make a call in this sandbox, and return its evidence too."""
    granted = Grants(mode="required", **grants)
    tool = ManifestFile(manifest, file or str(folder.parent / "tools" / "t.clad.toml"))
    executor = CommandExecutor([tool], cwd=folder, grants=granted, sandboxes=(sandbox,))
    call = Call("run-1", "call-1", executor.tools[0], {}, "key")
    receipt = await executor.execute(call)
    return receipt, json.loads(receipt.evidence or "{}")


# --- files ------------------------------------------------------------------------------------


@pytest.mark.req("sandbox-files")
async def test_a_program_writes_only_where_it_was_granted(
    sandbox: SandboxFinding, folder: Path
) -> None:
    outside = folder.parent / "secret" / "made"
    line = f"echo a > out/made; echo b > made; echo c > {outside}; echo d > $TMPDIR/made && echo ok"
    receipt, evidence = await run(sandbox, folder, manifest_of(line), writable=(Path("out"),))
    assert (folder / "out" / "made").read_text() == "a\n"
    assert not (folder / "made").exists()
    assert not outside.exists()
    assert evidence["stdout"]["text"] == "ok\n", "it has a folder for temporary files"
    assert evidence["sandbox"] == sandbox.name
    assert evidence["command"][0] == "sh"
    assert receipt.status == "ok"


@pytest.mark.req("sandbox-files")
async def test_a_program_changes_nothing_outside_in_other_ways(
    sandbox: SandboxFinding, folder: Path
) -> None:
    key = folder.parent / "secret" / "key"
    (folder / "kept").write_text("kept")
    line = f"mv kept out/; rm -f kept; ln {key} out/hard; rm -rf {key.parent}; truncate -s 0 {key}"
    await run(sandbox, folder, manifest_of(line), writable=(Path("out"),))
    assert key.read_text() == "the key"
    assert (folder / "kept").read_text() == "kept"
    assert not (folder / "out" / "hard").exists()


@pytest.mark.req("sandbox-files")
async def test_a_program_reads_its_folder_and_what_was_granted_and_nothing_else(
    sandbox: SandboxFinding, folder: Path
) -> None:
    (folder / "mine").write_text("mine")
    (folder / "link").symlink_to(folder.parent / "secret")
    key = folder.parent / "secret" / "key"
    line = f"cat mine; cat {key}; cat link/key; cat ../secret/key; ls {key.parent}"
    _, refused = await run(sandbox, folder, manifest_of(line))
    assert refused["stdout"]["text"] == "mine"
    _, granted = await run(sandbox, folder, manifest_of(line), readable=(key.parent,))
    assert granted["stdout"]["text"].count("the key") == 3


@pytest.mark.req("sandbox-files")
async def test_no_environment_of_another_process_is_read(
    sandbox: SandboxFinding, folder: Path
) -> None:
    """Ours holds the keys of providers, and a program of the same user could read it."""
    line = f"cat /proc/{os.getpid()}/environ /proc/$PPID/environ | tr '\\0' '\\n' | grep ^PYTEST_"
    assert "PYTEST_CURRENT_TEST" in os.environ
    _, evidence = await run(sandbox, folder, manifest_of(line))
    assert evidence["stdout"]["text"] == ""


@pytest.mark.req("sandbox-files")
async def test_the_kernel_is_told_nothing(sandbox: SandboxFinding, folder: Path) -> None:
    """As root, who owns the files of ``/proc/sys``: a handler of core dumps runs outside."""
    pattern = Path("/proc/sys/kernel/core_pattern")
    before = await asyncio.to_thread(pattern.read_text)
    line = f"echo {shlex.quote(before.strip())} > {pattern} && echo written"
    _, evidence = await run(sandbox, folder, manifest_of(line))
    assert evidence["stdout"]["text"] == ""
    assert evidence["stderr"]["text"]


@pytest.mark.req("sandbox-files")
async def test_limits_hold_from_the_first_instruction(
    sandbox: SandboxFinding, folder: Path
) -> None:
    limits = "[tool.limits]\nfiles = 32\nmemory_mb = 512"
    _, evidence = await run(sandbox, folder, manifest_of("ulimit -n; ulimit -v", limits))
    assert evidence["stdout"]["text"].split() == ["32", str(512 * 1024)]


@pytest.mark.req("sandbox-files")
async def test_manifests_and_configuration_stay_as_they_are_where_all_else_is_writable(
    folder: Path,
) -> None:
    sandbox = FOUND["bubblewrap"]
    if not sandbox.works:
        pytest.skip(f"Landlock cannot take back what it grants; {sandbox.hint}")
    (folder / "tools").mkdir()
    (folder / "artificer.toml").write_text("")
    line = "echo a > made; echo b > artificer.toml; echo c > tools/x.clad.toml; rm artificer.toml"
    file = str(folder / "tools" / "t.clad.toml")
    grants = {"writable": (Path(),), "kept": (Path("artificer.toml"),)}
    await run(sandbox, folder, manifest_of(line), file, **grants)
    assert (folder / "made").exists()
    assert (folder / "artificer.toml").read_text() == ""
    assert list((folder / "tools").iterdir()) == []


READ = "printf '\"'; cat \"$1\" | tr -d '\\n'; printf '\"'"


@pytest.mark.req("sandbox-files")
async def test_the_calls_own_folder_and_the_manifests_own_programs_are_there(
    sandbox: SandboxFinding, folder: Path
) -> None:
    tools = folder.parent / "tools"
    tools.mkdir()
    for name, line in (("p.sh", "echo written > $TOOLCLAD_OUTPUT_DIR/output.json"), ("r.sh", READ)):
        script = tools / name
        script.write_text(f"#!/bin/sh\n{line}\n")
        script.chmod(0o755)
    manifest = parse_manifest(
        '[tool]\nname = "t"\nversion = "1"\ndescription = "d"\n[command]\nexecutor = "./p.sh"\n'
        '[output]\nformat = "json"\nparser = "./r.sh"',
        "t.clad.toml",
    )
    receipt, _ = await run(sandbox, folder, manifest, str(tools / "t.clad.toml"))
    assert json.loads(receipt.content)["results"] == "written"


@pytest.mark.req("sandbox-files")
async def test_a_program_on_a_terminal_is_held_too(sandbox: SandboxFinding, folder: Path) -> None:
    text = """
    [tool]
    name = "sh"
    version = "1"
    description = "A shell."
    [session]
    startup_command = "sh -i"
    ready_pattern = "[$#] $"
    [session.commands.say]
    description = "Say."
    pattern = ".*"
    """
    grants = Grants(mode="required", writable=(Path("out"),))
    manifest = parse_manifest(text, "sh.clad.toml")
    executor = SessionExecutor([manifest], cwd=folder, grants=grants, sandboxes=(sandbox,))
    key = folder.parent / "secret" / "key"
    said = []
    for line in (f"cat {key}", "echo a > made", "echo b > out/made; echo done; tty"):
        call = Call("r", "c", executor.tools[0], {"command": line}, "k")
        said.append((await executor.execute(call)).content)
    await executor.release("r")
    assert "the key" not in said[0]
    assert not (folder / "made").exists()
    assert (folder / "out" / "made").exists()
    assert "done" in said[2]


# --- network ----------------------------------------------------------------------------------

CONNECT = "import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('connected')"


@pytest.mark.req("sandbox-network")
@pytest.mark.parametrize(
    ("operator", "manifest"), [(True, True), (True, False), (False, True), (False, False)]
)
async def test_the_network_is_there_when_both_say_so(
    sandbox: SandboxFinding, folder: Path, operator: bool, manifest: bool
) -> None:
    if not sandbox.holds_network:
        pytest.skip(f"{sandbox.name}: {sandbox.detail}; {sandbox.hint}")
    keys = "" if manifest else "[tool.sandbox]\nnetwork = false"
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = CONNECT.format(port=server.getsockname()[1])
        line = f"python3 -c {shlex.quote(script)}"
        _, evidence = await run(sandbox, folder, manifest_of(line, keys), network=operator)
    assert evidence["stdout"]["text"] == ("connected\n" if operator and manifest else "")


@pytest.mark.req("sandbox-network")
async def test_no_signal_and_no_nameless_socket_leads_out(
    sandbox: SandboxFinding, folder: Path
) -> None:
    name = f"artificer-test-{os.getpid()}-{threading.get_ident()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        script = (
            "import os, socket\n"
            f"try: os.kill({os.getpid()}, 0); print('signalled')\n"
            "except OSError: pass\n"
            f"s = socket.socket(socket.AF_UNIX); s.connect('\\0{name}'); print('connected')"
        )
        line = f"python3 -c {shlex.quote(script)}"
        _, evidence = await run(sandbox, folder, manifest_of(line))
    if sandbox.name == "landlock" and "ABI 4" <= sandbox.detail[:5] < "ABI 6":
        pytest.skip("Landlock holds these from ABI 6 on: Linux 6.12")
    assert evidence["stdout"]["text"] == ""


# --- modes ------------------------------------------------------------------------------------

NONE = SandboxFinding("bubblewrap", False, "not installed", "apt install bubblewrap")
FILES_ONLY = finding_of(3)


@pytest.mark.req("sandbox-mode")
def test_the_mode_chooses() -> None:
    good = finding_of(7)
    assert choose("off", False, [good]) is None
    assert choose("auto", False, [NONE, good]) is good
    assert choose("auto", False, [NONE]) is None
    assert choose("required", False, [NONE, FILES_ONLY]) is None, "it cannot hold the network"
    assert choose("required", True, [NONE, FILES_ONLY]) is FILES_ONLY
    assert choose("auto", False, [FILES_ONLY]) is FILES_ONLY


@pytest.mark.req("sandbox-mode")
def test_what_is_required_and_not_there_is_told_before_anything_runs(tmp_path: Path) -> None:
    asking = manifest_of("true", "[tool.sandbox]\nrequired = true")
    for manifest, mode in ((manifest_of("true"), "required"), (asking, "off"), (asking, "auto")):
        with pytest.raises(ConfigError, match=r"none works here .*not installed") as caught:
            CommandExecutor(
                [ManifestFile(manifest, "t")],
                cwd=tmp_path,
                grants=Grants(mode=mode),  # type: ignore[arg-type]
                sandboxes=(NONE,),
            )
        assert "doctor" in (caught.value.hint or "")


@pytest.mark.req("sandbox-mode")
async def test_off_confines_nothing(tmp_path: Path) -> None:
    executor = CommandExecutor([ManifestFile(manifest_of("echo a > made"), "t")], cwd=tmp_path)
    receipt = await executor.execute(Call("r", "c", executor.tools[0], {}, "k"))
    assert (tmp_path / "made").exists()
    assert json.loads(receipt.evidence or "")["sandbox"] is None


@pytest.mark.req("sandbox-mode")
async def test_a_manifest_asks_for_less(sandbox: SandboxFinding, folder: Path) -> None:
    keys = '[tool.sandbox]\nwritable = ["out"]'
    line = "echo a > out/made; echo b > made"
    await run(sandbox, folder, manifest_of(line, keys), writable=(Path(),))
    assert (folder / "out" / "made").exists()
    assert not (folder / "made").exists()


@pytest.mark.req("sandbox-mode")
async def test_a_manifest_asks_for_no_more(sandbox: SandboxFinding, folder: Path) -> None:
    with pytest.raises(ConfigError, match="not granted"):
        await run(sandbox, folder, manifest_of("true", '[tool.sandbox]\nwritable = ["."]'))
    for path in ("../x", "/etc", "a/../../b", "~/x", "", "a//b"):
        with pytest.raises(ManifestError, match=r"tool\.sandbox\.writable"):
            manifest_of("true", f'[tool.sandbox]\nwritable = ["{path}"]')


@pytest.mark.req("sandbox-mode")
async def test_a_link_put_in_the_place_of_a_folder_grants_nothing(
    sandbox: SandboxFinding, folder: Path
) -> None:
    manifest = manifest_of("echo a > out/made", '[tool.sandbox]\nwritable = ["out"]')
    grants = Grants(mode="required", writable=(Path(),))
    tool = ManifestFile(manifest, "t")
    executor = CommandExecutor([tool], cwd=folder, grants=grants, sandboxes=(sandbox,))
    (folder / "out").rmdir()
    (folder / "out").symlink_to(folder.parent / "secret")
    receipt = await executor.execute(Call("r", "c", executor.tools[0], {}, "k"))
    assert "not granted" in json.loads(receipt.content)["fault"]
    assert not (folder.parent / "secret" / "made").exists()


@pytest.mark.req("sandbox-mode")
async def test_a_missing_program_is_told_as_without_a_sandbox(
    sandbox: SandboxFinding, folder: Path
) -> None:
    text = '[tool]\nname = "t"\nversion = "1"\ndescription = "d"\n[command]\nexec = ["no-such"]'
    receipt, _ = await run(sandbox, folder, parse_manifest(text, "t.clad.toml"))
    assert json.loads(receipt.content)["fault"].startswith("no-such could not be started")


@pytest.mark.req("sandbox-mode")
async def test_what_was_started_ends_with_the_call(sandbox: SandboxFinding, folder: Path) -> None:
    line = "setsid sh -c 'while :; do echo x >> out/beat; sleep 0.02; done' & sleep 60"
    manifest = manifest_of(line)
    manifest = replace(manifest, tool=manifest.tool.replace(timeout_seconds=1))
    receipt, _ = await run(sandbox, folder, manifest, writable=(Path("out"),))
    assert receipt.status == "timeout"
    beat = (folder / "out" / "beat").stat().st_size
    assert beat > 0
    await run(sandbox, folder, manifest_of("sleep 0.3"))
    assert (folder / "out" / "beat").stat().st_size == beat


@pytest.mark.req("sandbox-mode")
def test_the_folder_for_temporary_files_goes_with_its_sandbox(
    sandbox: SandboxFinding, folder: Path
) -> None:
    held = Sandbox(Grants(mode="required"), folder, sandboxes=(sandbox,))
    confinement = held.confine(manifest_of("true").tool, "sh", {"PATH": os.environ["PATH"]})
    scratch = confinement.rules.scratch  # type: ignore[attr-defined]
    assert scratch.is_dir()
    del held
    assert not scratch.exists()


@pytest.mark.req("sandbox-names-itself")
async def test_a_refusal_names_the_sandbox(sandbox: SandboxFinding, folder: Path) -> None:
    refused, _ = await run(sandbox, folder, manifest_of("echo a > made"))
    failed, _ = await run(sandbox, folder, manifest_of("exit 3"))
    assert f"It ran in a sandbox ({sandbox.name})" in refused.content
    assert "sandbox" not in failed.content


@pytest.mark.req("sandbox-toolchains")
async def test_a_program_of_the_users_toolchain_runs(
    sandbox: SandboxFinding, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = folder.parent / "person"
    versions, shims = home / ".pyenv" / "versions", home / ".pyenv" / "shims"
    for made in (versions, shims, home / ".ssh"):
        made.mkdir(parents=True)
    (versions / "lib").write_text("the library")
    (home / ".ssh" / "id").write_text("the key")
    tool = shims / "sometool"
    root = "$PYENV_ROOT/versions"
    tool.write_text(f"#!/bin/sh\ncat {root}/lib; cat {home}/.ssh/id; echo x > {root}/new")
    tool.chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{shims}:{os.environ['PATH']}")
    text = '[tool]\nname = "t"\nversion = "1"\ndescription = "d"\n[command]\nexec = ["sometool"]\n'
    _, evidence = await run(sandbox, folder, parse_manifest(text, "t.clad.toml"))
    assert evidence["stdout"]["text"] == "the library"
    assert "the key" not in str(evidence)
    assert not (versions / "new").exists()
