"""Command tools: real programs, their outcomes, and the end of whole process trees."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tools_support import LONGER_S, WRITER, appears, names_in, size, standard_input, stays

from artificer.backends.command.executor import CommandExecutor
from artificer.backends.mcp.stdio import StdioServer
from artificer.backends.process.environment import child_environment
from artificer.backends.process.run import run_process
from artificer.manifests.model import ManifestFile
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call, Receipt
from needs import reason


def executor_of(
    command: list[Any], arguments: str = "", *, cwd: Path, extra: str = "", **options: Any
) -> CommandExecutor:
    text = (
        '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'
        f"{arguments}\n[command]\nexec = {json.dumps(command)}\n{extra}"
    )
    tool = ManifestFile(parse_manifest(text, "t.clad.toml"), "t.clad.toml")
    return CommandExecutor([tool], cwd=cwd, **options)


async def perform(executor: CommandExecutor, timeout_ms: int = 20_000, **given: Any) -> Receipt:
    definition = executor.tools[0].replace(timeout_ms=timeout_ms)
    return await executor.execute(Call("run-1", "call-1", definition, given, "key-1"))


def python(script: str) -> list[str]:
    return [sys.executable, "-c", script]


def evidence_of(receipt: Receipt) -> dict[str, Any]:
    assert receipt.evidence is not None
    value: dict[str, Any] = json.loads(receipt.evidence)
    return value


def problems_of(receipt: Receipt) -> Any:
    return json.loads(receipt.content)["problems"]


@pytest.mark.req("command-outcome")
class TestOutcome:
    async def test_a_success_is_evidence_and_content(self, tmp_path: Path) -> None:
        receipt = await perform(executor_of(["echo", "hello"], cwd=tmp_path))
        assert receipt.status == "ok"
        assert json.loads(receipt.content) == {
            "status": "success",
            "exit_code": 0,
            "stdout": "hello\n",
        }
        evidence = evidence_of(receipt)
        assert evidence["command"] == ["echo", "hello"]
        assert evidence["output_hash"] == "sha256:" + hashlib.sha256(b"hello\n").hexdigest()
        assert evidence["stdout"] == {"size": 6, "text": "hello\n", "truncated": False}

    async def test_a_non_zero_exit_is_an_error_with_both_streams(self, tmp_path: Path) -> None:
        script = "import sys; print('out'); print('why', file=sys.stderr); sys.exit(3)"
        receipt = await perform(executor_of(python(script), cwd=tmp_path))
        assert receipt.status == "error"
        content = json.loads(receipt.content)
        assert (content["exit_code"], content["stderr"]) == (3, "why\n")
        assert content["stdout"] == "out\n"

    async def test_a_manifest_may_call_other_exits_a_success(self, tmp_path: Path) -> None:
        script = python("raise SystemExit(1)")
        executor = executor_of(script, cwd=tmp_path, extra="success_exit = [0, 1]")
        assert (await perform(executor)).status == "ok"

    async def test_a_signal_is_a_negative_exit(self, tmp_path: Path) -> None:
        script = python("import os; os.kill(os.getpid(), 9)")
        receipt = await perform(executor_of(script, cwd=tmp_path))
        assert receipt.status == "error"
        assert json.loads(receipt.content)["exit_code"] == -9

    async def test_a_missing_program_is_an_error_receipt(self, tmp_path: Path) -> None:
        receipt = await perform(executor_of(["no-such-program-anywhere"], cwd=tmp_path))
        assert receipt.status == "error"
        assert "could not be started" in receipt.content
        assert evidence_of(receipt)["exit_code"] is None

    async def test_bytes_that_are_no_utf8_survive(self, tmp_path: Path) -> None:
        script = python("import sys; sys.stdout.buffer.write(b'ok\\xff\\r\\n\\x00')")
        receipt = await perform(executor_of(script, cwd=tmp_path))
        assert receipt.status == "ok"
        assert json.loads(receipt.content)["stdout"] == "ok\ufffd\r\n\0"
        raw = hashlib.sha256(b"ok\xff\r\n\x00").hexdigest()
        assert evidence_of(receipt)["output_hash"] == "sha256:" + raw

    @pytest.mark.parametrize(
        ("printed", "status", "words"),
        [
            ('{"n": 12345678901234567890}', "ok", '"results":{"n":12345678901234567890}'),
            ("[1]", "error", "breaks its schema"),
            ("NaN", "error", "not JSON"),
            ("{", "error", "not JSON"),
            ("[" * 100_000, "error", "not JSON"),
        ],
    )
    async def test_json_is_parsed_and_held_to_its_schema(
        self, printed: str, status: str, words: str, tmp_path: Path
    ) -> None:
        (tmp_path / "printed").write_text(printed)
        extra = '[output]\nformat = "json"\nschema = {type = "object"}'
        receipt = await perform(executor_of(["cat", "printed"], cwd=tmp_path, extra=extra))
        assert receipt.status == status
        assert words in receipt.content

    async def test_awkward_output_keeps_the_content_within_its_bound(self, tmp_path: Path) -> None:
        script = python(r"import sys; sys.stdout.write('\x01\"\\' * 200000)")
        receipt = await perform(executor_of(script, cwd=tmp_path))
        assert len(receipt.content) <= 32_000
        assert "characters left out" in json.loads(receipt.content)["stdout"]


@pytest.mark.req("command-isolation")
class TestIsolation:
    async def test_the_environment_is_an_allow_list(self, tmp_path: Path) -> None:
        os.environ["OPENAI_API_KEY"] = "sk-leak"
        try:
            executor = executor_of(["env"], cwd=tmp_path)
        finally:
            del os.environ["OPENAI_API_KEY"]
        printed = json.loads((await perform(executor)).content)["stdout"]
        names = {line.partition("=")[0] for line in printed.splitlines()}
        assert "sk-leak" not in printed
        assert "ARTIFICER_IDEMPOTENCY_KEY=key-1\n" in printed
        assert names <= {
            "ARTIFICER_FENCING_TOKEN",
            "ARTIFICER_IDEMPOTENCY_KEY",
            "ARTIFICER_TREE",
            *child_environment(os.environ),
        }

    async def test_standard_input_is_empty(self, tmp_path: Path) -> None:
        with standard_input(b"not for the tool"):
            receipt = await perform(executor_of(["cat"], cwd=tmp_path))
        assert json.loads(receipt.content)["stdout"] == ""

    async def test_it_leads_a_session_of_its_own(self, tmp_path: Path) -> None:
        """So that an interrupt at the terminal is for us alone to deal with."""
        script = python("import os; print(os.getsid(0) == os.getpid() == os.getpgrp())")
        receipt = await perform(executor_of(script, cwd=tmp_path))
        assert json.loads(receipt.content)["stdout"] == "True\n"

    async def test_it_runs_in_the_given_folder(self, tmp_path: Path) -> None:
        (tmp_path / "here").touch()
        receipt = await perform(executor_of(["ls"], cwd=tmp_path))
        assert json.loads(receipt.content)["stdout"] == "here\n"

    async def test_no_shell_reads_a_value(self, tmp_path: Path) -> None:
        value = "$(touch pwned); `touch pwned` | touch pwned\\ \"' *"
        executor = executor_of(["printf", "%s", "{x}"], "[args.x]\nrequired = true", cwd=tmp_path)
        assert json.loads((await perform(executor, x=value)).content)["stdout"] == value
        assert names_in(tmp_path) == []

    async def test_symbolic_links_do_not_lead_a_path_out(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        root.mkdir()
        (root / "inside").write_text("fine")
        (root / "fine").symlink_to("inside")
        (root / "etc").symlink_to("/etc")
        executor = executor_of(
            ["cat", "--", "{x}"], '[args.x]\ntype = "path"\nrequired = true', cwd=root
        )
        assert (await perform(executor, x="fine")).status == "ok"
        (root / "loop").symlink_to("loop")
        assert (await perform(executor, x="loop/x")).status != "ok"
        for escape in ("etc/hostname", "etc"):
            refused = await perform(executor, x=escape)
            assert problems_of(refused) == [
                {"message": "leads out of the folder of the tools", "pointer": "/x"}
            ]

    async def test_refused_values_start_nothing(self, tmp_path: Path) -> None:
        executor = executor_of(["touch", "{x}"], "[args.x]\nrequired = true", cwd=tmp_path)
        receipt = await perform(executor, x="--reference=/etc")
        assert (receipt.status, receipt.evidence) == ("invalid", None)
        assert problems_of(receipt) == [{"message": "must not begin with '-'", "pointer": "/x"}]
        assert names_in(tmp_path) == []


@pytest.mark.req("command-bounds")
class TestBounds:
    async def test_a_flood_is_counted_and_cut_but_not_kept(self, tmp_path: Path) -> None:
        size = 192 * 1024 * 1024
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        finished = await run_process(
            ["head", "-c", str(size), "/dev/zero"],
            env=child_environment(os.environ),
            cwd=tmp_path,
            seconds=120,
        )
        grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert finished.exit_code == 0
        assert finished.stdout.size == size
        assert finished.stdout.truncated
        assert len(finished.stdout.text) < 2 * 1024 * 1024
        assert grown_kib < 32 * 1024

    async def test_head_and_tail_are_kept_and_both_streams_flow(self, tmp_path: Path) -> None:
        script = (
            "import sys\n"
            "for i in range(40000):\n"
            "    print('out', i, '.' * 80)\n"
            "    print('err', i, '.' * 80, file=sys.stderr)\n"
        )
        finished = await run_process(
            python(script), env=child_environment(os.environ), cwd=tmp_path, seconds=60
        )
        assert finished.exit_code == 0
        for stream, word in ((finished.stdout, "out"), (finished.stderr, "err")):
            assert stream.text.startswith(f"{word} 0 ")
            assert f"{word} 39999 " in stream.text
            assert "bytes left out" in stream.text

    async def test_all_that_a_program_of_milliseconds_printed_is_kept(self, tmp_path: Path) -> None:
        line = "head -c 60000 /dev/zero; head -c 50000 /dev/zero >&2"
        finished = await run_process(
            ["sh", "-c", line], env=child_environment(os.environ), cwd=tmp_path, seconds=60
        )
        assert (finished.stdout.size, finished.stderr.size) == (60_000, 50_000)

    async def test_a_timeout_keeps_what_was_printed(self, tmp_path: Path) -> None:
        script = "import time; print('progress', flush=True); time.sleep(60)"
        for seconds in LONGER_S:
            executor = executor_of(python(script), cwd=tmp_path)
            receipt = await perform(executor, timeout_ms=round(seconds * 1000))
            assert receipt.status == "timeout"
            content = json.loads(receipt.content)
            assert f"did not end within {seconds:g} s" in content["fault"]
            if content["stdout"]:
                break
        assert content["stdout"] == "progress\n"
        assert evidence_of(receipt)["exit_code"] is None


STARTERS = {
    "child": (
        f"import subprocess,sys; subprocess.call([sys.executable,'-c',{WRITER!r},sys.argv[1]])"
    ),
    "own session": (
        "import subprocess,sys,time\n"
        f"subprocess.Popen([sys.executable,'-c',{WRITER!r},sys.argv[1]],start_new_session=True)\n"
        "time.sleep(60)"
    ),
    "ignores TERM": f"import signal\nsignal.signal(15,signal.SIG_IGN)\n{WRITER}",
    "orphan in its own session": (
        "import os,sys,time\n"
        "if os.fork()==0:\n"
        "  os.setsid()\n"
        "  if os.fork()==0:\n"
        "    os.execv(sys.executable,[sys.executable,'-c',"
        f"{WRITER!r},sys.argv[1]])\n"
        "  os._exit(0)\n"
        "time.sleep(60)"
    ),
}


def is_over(pid: str) -> bool:
    """Whether a process is gone, or a zombie that its new parent has yet to look at."""
    try:
        return " Z " in Path("/proc", pid, "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.req("command-tree")
class TestTree:
    async def test_a_timeout_ends_the_whole_tree(self, tmp_path: Path) -> None:
        executor = executor_of([*python(STARTERS["own session"]), "file"], cwd=tmp_path)
        for seconds in LONGER_S:
            receipt = await perform(executor, timeout_ms=round(seconds * 1000))
            assert receipt.status == "timeout"
            if size(tmp_path / "file"):
                break
        assert await stays(tmp_path / "file")

    @pytest.mark.parametrize("how", STARTERS)
    async def test_cancelling_ends_the_whole_tree(self, how: str, tmp_path: Path) -> None:
        executor = executor_of([*python(STARTERS[how]), "file"], cwd=tmp_path)
        task = asyncio.create_task(perform(executor))
        await appears(tmp_path / "file")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await stays(tmp_path / "file")

    async def test_cancelling_twice_still_ends_it(self, tmp_path: Path) -> None:
        executor = executor_of([*python(STARTERS["ignores TERM"]), "file"], cwd=tmp_path)
        task = asyncio.create_task(perform(executor))
        await appears(tmp_path / "file")
        task.cancel()
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await stays(tmp_path / "file")

    async def test_a_program_that_ends_is_not_waited_for_longer(self, tmp_path: Path) -> None:
        """Something it left behind holds its output; it is ended, and told in the evidence."""
        script = (
            "import subprocess,sys,time,os\n"
            f"subprocess.Popen([sys.executable,'-c',{WRITER!r},'file'],start_new_session=True)\n"
            "while not os.path.exists('file'): time.sleep(0.01)\n"
            "print('done')"
        )
        receipt = await perform(executor_of(python(script), cwd=tmp_path), timeout_ms=60_000)
        assert receipt.status == "ok"
        assert json.loads(receipt.content)["stdout"] == "done\n"
        evidence = evidence_of(receipt)
        assert evidence["left_behind"] == 1
        assert evidence["duration_ms"] < 30_000
        assert await stays(tmp_path / "file")

    @pytest.mark.parametrize(
        "how", ["sleep 60", "setsid sleep 60", "setsid sh -c 'sleep 60 & wait'"]
    )
    async def test_what_a_program_of_milliseconds_left_is_found(
        self, how: str, tmp_path: Path
    ) -> None:
        executor = executor_of(["sh", "-c", f"{how} >out 2>&1 & echo $!"], cwd=tmp_path)
        receipt = await perform(executor, timeout_ms=60_000)
        assert evidence_of(receipt)["left_behind"] in ((1, 2) if "wait" in how else (1,))
        assert is_over(json.loads(receipt.content)["stdout"].strip())

    async def test_many_at_once_do_not_disturb_each_other(self, tmp_path: Path) -> None:
        executor = executor_of(["echo", "{n}"], '[args.n]\ntype = "integer"', cwd=tmp_path)
        receipts = await asyncio.gather(*(perform(executor, n=n) for n in range(24)))
        printed = [json.loads(receipt.content)["stdout"] for receipt in receipts]
        assert printed == [f"{n}\n" for n in range(24)]

    async def test_a_program_inherits_no_descriptor_of_ours(self, tmp_path: Path) -> None:
        """That of its keeper would let it say how another program has ended."""
        script = (
            "import os; print([n for n in range(3, 256) if os.path.exists('/proc/self/fd/%d' % n)])"
        )
        executor = executor_of([sys.executable, "-c", script], cwd=tmp_path)
        for receipt in (await perform(executor), await perform(executor)):
            assert json.loads(receipt.content)["stdout"] == "[]\n"

    async def test_descriptors_are_given_back(self, tmp_path: Path) -> None:
        executor = executor_of(["true"], cwd=tmp_path)
        missing = executor_of(["no-such-program-anywhere"], cwd=tmp_path)
        await perform(executor)
        before = len(names_in(Path("/proc/self/fd")))
        for _ in range(5):
            await perform(executor)
            await perform(missing)
        assert len(names_in(Path("/proc/self/fd"))) == before


@pytest.mark.req("command-isolation")
async def test_a_relative_folder_is_found_from_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    shown = (sys.executable, "-c", "import os; print(os.getcwd())")
    done = await run_process(shown, env={}, cwd=Path("sub"), seconds=30)
    assert done.stdout.text.strip() == str(tmp_path / "sub")


@contextmanager
def room_for(descriptors: int) -> Iterator[None]:
    """Let this process open so many more descriptors, and not one beyond them."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    filling = [os.open(os.devnull, os.O_RDONLY) for _ in range(64)]  # no gap is left below the last
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(filling) + 1 + descriptors, before[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in filling:
            os.close(descriptor)


def open_pipes() -> list[str]:
    """The pipes of this process, and what it reads nothing from."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # that of the listing
            found.append(str(entry.readlink()))
    return sorted(place for place in found if place.startswith("pipe:") or place == os.devnull)


@pytest.mark.req("command-descriptors")
@pytest.mark.parametrize("room", range(7))
async def test_a_program_that_cannot_be_started_leaves_no_descriptor(
    room: int, tmp_path: Path
) -> None:
    pytest.importorskip("mcp.shared.message", reason=reason("mcp"))  # while it can be read
    before = open_pipes()
    with room_for(room), suppress(OSError):
        await run_process(["true"], env={}, cwd=tmp_path, seconds=30)
    assert open_pipes() == before
    with room_for(room), suppress(OSError):
        async with StdioServer(["true"], {}, tmp_path):
            pass
    assert open_pipes() == before
