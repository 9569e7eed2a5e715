"""Command tools beyond argv: scripts, parsers, files of their own, limits, whole outputs."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tools_support import names_in

from artificer.backends.call_folders import call_folder, prune
from artificer.backends.command.executor import CommandExecutor
from artificer.backends.command.spec.section import bind_command
from artificer.backends.loader import load_folder
from artificer.backends.process.capture import HEAD_BYTES, MAX_SPILL, Capture
from artificer.backends.process.environment import child_environment
from artificer.backends.process.run import Stdio, run_process
from artificer.errors import ManifestError
from artificer.manifests.keys import LimitKeys
from artificer.ports import Call, Receipt
from artificer.storage.blobs.memory import MemoryStore

HEAD = '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'
PYTHON = f"#!{sys.executable}\n"


def script(path: Path, text: str) -> None:
    path.write_text(PYTHON + text)
    path.chmod(0o700)


def executor_of(folder: Path, text: str, **options: Any) -> CommandExecutor:
    (folder / "t.clad.toml").write_text(HEAD + text)
    return CommandExecutor(load_folder(folder), cwd=folder, evidence=folder / "evidence", **options)


async def perform(executor: CommandExecutor, **given: Any) -> Receipt:
    return await executor.execute(Call("run-1", "call/1", executor.tools[0], given, "key-1"))


def content_of(receipt: Receipt) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(receipt.content)
    return value


@pytest.mark.req("command-executor")
class TestExecutor:
    SHOW = (
        "import os, json\nprint(json.dumps({k: v for k, v in os.environ.items() if 'TOOL' in k}))"
    )
    TEXT = """
        [args.target]
        required = true
        [args.many]
        type = "integer"
        list = true
        default = [1, 2]
        [args.absent]
        [command]
        executor = "./run.py"
        [output]
        format = "json"
        """

    async def test_a_script_gets_the_documented_environment(self, tmp_path: Path) -> None:
        script(tmp_path / "run.py", self.SHOW)
        receipt = await perform(executor_of(tmp_path, self.TEXT), target="a b;c")
        results = content_of(receipt)["results"]
        folder = results.pop("TOOLCLAD_OUTPUT_DIR")
        assert results.pop("TOOLCLAD_EVIDENCE_DIR") == folder
        assert Path(folder).parent == tmp_path / "evidence" / "run-1"
        evidence = json.loads(receipt.evidence or "")
        assert results == {
            "TOOLCLAD_ARG_TARGET": "a b;c",
            "TOOLCLAD_ARG_MANY": "[1,2]",
            "TOOLCLAD_SCAN_ID": evidence["scan_id"],
            "TOOLCLAD_TOOL_NAME": "t",
        }
        assert evidence["command"] == [str(tmp_path / "run.py")]

    async def test_a_script_is_given_no_hidden_option(self, tmp_path: Path) -> None:
        script(tmp_path / "run.py", self.SHOW)
        receipt = await perform(executor_of(tmp_path, self.TEXT), target="--evil")
        assert receipt.status == "invalid"

    def test_a_script_must_be_there_and_executable(self, tmp_path: Path) -> None:
        with pytest.raises(ManifestError, match="is not an executable file"):
            executor_of(tmp_path, self.TEXT)
        (tmp_path / "run.py").write_text("")
        with pytest.raises(ManifestError, match="is not an executable file"):
            executor_of(tmp_path, self.TEXT)

    def test_arguments_must_not_meet_in_one_variable(self, tmp_path: Path) -> None:
        script(tmp_path / "run.py", self.SHOW)
        with pytest.raises(ManifestError, match="TOOLCLAD_ARG_A for the executor"):
            executor_of(tmp_path, '[args.a]\n[args.A]\n[command]\nexecutor = "./run.py"')

    def test_a_callback_is_declared_and_not_offered(self, tmp_path: Path) -> None:
        text = 'dispatch = "callback"\n[args.x]\ntype = "port"\nrequired = true\n'
        executor = executor_of(tmp_path, text)
        assert executor.tools == ()
        manifest = load_folder(tmp_path)[0].manifest
        assert bind_command(manifest, {"x": 80}).values == {"x": 80}
        assert bind_command(manifest, {}).problems


@pytest.mark.req("command-parser")
class TestParser:
    TEXT = """
        [command]
        exec = ["printf", "3 4"]
        [output]
        parser = "./parse.py"
        schema = {type = "array"}
        """

    @pytest.mark.parametrize(
        ("text", "status", "words"),
        [
            ("print([int(n) for n in open(sys.argv[1]).read().split()])", "ok", '"results":[3,4]'),
            ("print('{}')", "error", "breaks its schema"),
            ("print('no json')", "error", "the parser's output is not JSON"),
            ("sys.exit('broken')", "error", "the parser ended with 1: broken"),
            ("print('[' + ' ' * 2_000_000 + ']')", "error", "the parser's output is too long"),
            ("import time; time.sleep(60)", "error", "the parser did not end in time"),
        ],
    )
    async def test_it_is_given_the_raw_output_and_prints_json(
        self, text: str, status: str, words: str, tmp_path: Path
    ) -> None:
        script(tmp_path / "parse.py", f"import sys\n{text}")
        executor = executor_of(tmp_path, self.TEXT)
        definition = executor.tools[0].replace(timeout_ms=2_000)
        receipt = await executor.execute(Call("run-1", "c", definition, {}, "k"))
        assert receipt.status == status
        assert words in receipt.content

    async def test_it_reads_all_of_a_long_output(self, tmp_path: Path) -> None:
        script(tmp_path / "parse.py", "import os, sys\nprint([os.path.getsize(sys.argv[1])])")
        text = self.TEXT.replace('["printf", "3 4"]', '["head", "-c", "9000000", "/dev/zero"]')
        assert content_of(await perform(executor_of(tmp_path, text)))["results"] == [9_000_000]


@pytest.mark.req("command-evidence")
class TestEvidence:
    async def test_a_file_that_the_program_writes_for_us_is_what_is_read(
        self, tmp_path: Path
    ) -> None:
        text = '[command]\nexec = ["cp", "data", "{_output_file}"]\n[output]\nformat = "json"'
        executor = executor_of(tmp_path, text)
        (tmp_path / "data").write_text("[1]")
        receipt = await perform(executor)
        assert content_of(receipt)["results"] == [1]
        file = Path(json.loads(receipt.evidence or "")["output_file"])
        assert file.is_relative_to(tmp_path / "evidence" / "run-1")
        assert file.name == "output.json"

    @pytest.mark.parametrize("parser", ["", 'parser = "./parse.py"'])
    async def test_a_call_that_is_performed_again_has_no_results_of_its_first_attempt(
        self, parser: str, tmp_path: Path
    ) -> None:
        script(tmp_path / "parse.py", "import sys\nprint(open(sys.argv[1]).read())")
        run = "cat data; test -f once || cp data $TOOLCLAD_OUTPUT_DIR/output.json; touch once"
        (tmp_path / "run.sh").write_text(f"#!/bin/sh\n{run}\n")
        (tmp_path / "run.sh").chmod(0o700)
        text = f'[command]\nexecutor = "./run.sh"\n[output]\nformat = "json"\n{parser}'
        for attempt in ("[1]", "[2]", "[3]"):
            (tmp_path / "data").write_text(attempt)
            receipt = await perform(executor_of(tmp_path, text))
            assert content_of(receipt)["results"] == json.loads(attempt)

    async def test_a_probe_leaves_what_the_call_has_written(self, tmp_path: Path) -> None:
        text = (
            '[tool.probe]\nexec = ["true"]\n[command]\nexec = ["cp", "data", "{_output_file}"]\n'
            'env = { FILE = "{_output_file}" }'
        )
        (tmp_path / "data").write_text("1")
        executor = executor_of(tmp_path, text)
        evidence = json.loads((await perform(executor)).evidence or "")
        await executor.probe(Call("run-1", "call/1", executor.tools[0], {}, "key-1"))
        assert names_in(Path(evidence["output_file"]).parent) == ["output.txt"]

    async def test_a_link_in_its_place_is_not_followed(self, tmp_path: Path) -> None:
        text = '[command]\nexec = ["ln", "-s", "/etc/hostname", "{_output_file}"]'
        receipt = await perform(executor_of(tmp_path, text))
        assert content_of(receipt)["stdout"] == ""

    async def test_folders_never_take_their_names_from_tools_or_models(
        self, tmp_path: Path
    ) -> None:
        root = tmp_path / "evidence"
        for run, call in (("run-1", "../../x"), ("../../y", "c"), ("run-1", "\ud800\0")):
            folder = call_folder(root, run, call)
            assert folder.is_relative_to(root)
            assert folder.stat().st_mode & 0o077 == 0
        assert len(names_in(root)) == 2

    async def test_tools_that_need_no_folder_get_none(self, tmp_path: Path) -> None:
        await perform(executor_of(tmp_path, '[command]\nexec = ["true"]'))
        assert not (tmp_path / "evidence").exists()

    def test_old_runs_are_pruned(self, tmp_path: Path) -> None:
        for run in ("old", "new"):
            (call_folder(tmp_path, run, "c") / "file").touch()
        past = time.time() - 10 * 86_400
        for path in ((tmp_path / "old"), *(tmp_path / "old").rglob("*")):
            os.utime(path, (past, past))
        assert prune(tmp_path, older_than_days=5) == (["old"], [])
        assert names_in(tmp_path) == ["new"]
        assert prune(tmp_path / "nowhere", older_than_days=0) == ([], [])


@pytest.mark.req("command-limits")
class TestLimits:
    @pytest.mark.parametrize(
        ("limits", "text"),
        [
            ("memory_mb = 200", "x = 'x' * 400_000_000"),
            ("files = 16", "files = [open('/dev/null') for _ in range(30)]"),
            ("file_mb = 1", "open('big', 'wb').write(b'x' * 3_000_000)"),
            ("cpu_seconds = 1", "while True: pass"),
        ],
    )
    async def test_a_program_beyond_its_limits_fails(
        self, limits: str, text: str, tmp_path: Path
    ) -> None:
        wait = "import time; time.sleep(0.3)"  # its limits are set right after its start
        command = json.dumps([sys.executable, "-c", f"{wait}\n{text}"])
        executor = executor_of(tmp_path, f"[tool.limits]\n{limits}\n[command]\nexec = {command}")
        assert (await perform(executor)).status == "error"

    async def test_limits_hold_for_what_it_starts(self, tmp_path: Path) -> None:
        inner = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
        outer = f"import subprocess, sys; subprocess.call([sys.executable, '-c', {inner!r}])"
        finished = await run_process(
            [sys.executable, "-c", f"import time; time.sleep(0.3); {outer}"],
            env=child_environment(os.environ),
            cwd=tmp_path,
            seconds=20,
            limits=LimitKeys(files=33),
        )
        assert finished.stdout.text == "(33, 33)\n"


@pytest.mark.req("command-spill")
class TestWholeOutput:
    async def test_what_an_envelope_cannot_hold_is_kept_as_blobs(self, tmp_path: Path) -> None:
        blobs = MemoryStore()
        text = '[command]\nexec = ["seq", "{n}"]\n[args.n]\ntype = "integer"\nrequired = true'
        executor = executor_of(tmp_path, text, blobs=blobs)
        for n in (3, 10_000, 1_000_000):
            receipt = await perform(executor, n=n)
            evidence = json.loads(receipt.evidence or "")
            whole = b"".join(blobs.get(digest) for digest in evidence["output_blobs"])
            expected = "".join(f"{i}\n" for i in range(1, n + 1)).encode()
            assert whole == (b"" if n == 3 else expected)
            digest = "sha256:" + hashlib.sha256(expected).hexdigest()
            assert evidence["output_hash"] == digest

    async def test_capture_keeps_a_short_output_too(self, tmp_path: Path) -> None:
        blobs = MemoryStore()
        text = '[tool.evidence]\ncapture = true\n[command]\nexec = ["printf", "hi"]'
        receipt = await perform(executor_of(tmp_path, text, blobs=blobs))
        (digest,) = json.loads(receipt.evidence or "")["output_blobs"]
        assert blobs.get(digest) == b"hi"

    async def test_a_flood_costs_little_memory(self, tmp_path: Path) -> None:
        size = 256 * 1024 * 1024
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with Capture(tmp_path) as stdout:
            finished = await run_process(
                ["head", "-c", str(size), "/dev/zero"],
                env=child_environment(os.environ),
                cwd=tmp_path,
                seconds=120,
                stdio=Stdio(stdout=stdout),
            )
            assert finished.stdout.size == size
            assert stdout.is_whole
            assert sum(map(len, stdout.pieces())) == size
        assert names_in(tmp_path) == []
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 64 * 1024

    def test_more_than_is_kept_is_still_counted(self, tmp_path: Path) -> None:
        with Capture(tmp_path) as stdout:
            piece = bytes(8 * 1024 * 1024)
            for _ in range(MAX_SPILL // len(piece) + 1):
                stdout.take(piece)
            assert stdout.size == MAX_SPILL + len(piece)
            assert not stdout.is_whole
            assert sum(map(len, stdout.pieces())) == MAX_SPILL

    def test_a_disk_that_takes_no_copy_costs_only_the_copy(self, tmp_path: Path) -> None:
        with Capture(tmp_path / "nowhere") as stdout:
            for _ in range(3):
                stdout.take(bytes(HEAD_BYTES))
            assert stdout.size == 3 * HEAD_BYTES
            assert not stdout.is_whole
            assert sum(map(len, stdout.pieces())) == HEAD_BYTES


@pytest.mark.req("command-bare")
async def test_without_an_envelope_a_model_reads_results_alone(tmp_path: Path) -> None:
    text = '[command]\nexec = ["printf", "{x}"]\n[args.x]\nrequired = true\n'
    bare = text + "[output]\nenvelope = false"
    assert (await perform(executor_of(tmp_path, bare), x="hi")).content == "hi"
    as_json = bare + '\nformat = "json"'
    assert (await perform(executor_of(tmp_path, as_json), x=" [1] ")).content == "[1]"
    failed = await perform(executor_of(tmp_path, as_json), x="no")
    assert content_of(failed)["status"] == "error"
    long = await perform(executor_of(tmp_path, bare), x="y" * 32_000)
    assert len(long.content) <= 32_000


@pytest.mark.req("command-confined")
async def test_files_of_every_kind_stay_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    (tmp_path / "link").symlink_to("key")
    (tmp_path / "out").symlink_to("/etc/hostname")
    (tmp_path / "sub").mkdir()
    text = (
        '[args.key]\ntype = "credential_file"\n[args.files]\ntype = "path"\nlist = true\n'
        '[args.other]\ntype = "path"\ndefault = "{}"\n'
        '[command]\nexec = ["echo", ["{{key}}"], "{{files}}", "{{other}}"]'
    )
    executor = executor_of(
        tmp_path, text.replace("{}", "key").replace("{{", "{").replace("}}", "}")
    )
    assert (await perform(executor, key="key", files=["key", "link"])).status == "ok"
    for bad in ({"key": "link"}, {"key": "out"}, {"key": "sub"}, {"key": "nowhere"}):
        assert (await perform(executor, **bad)).status == "invalid"
    assert (await perform(executor, files=["key", "out"])).status == "invalid"
    led_out = executor_of(tmp_path, text.replace("{}", "out").replace("{{", "{").replace("}}", "}"))
    assert (await perform(led_out)).status == "invalid"
