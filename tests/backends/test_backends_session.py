"""``[session]`` tools with real programs on real terminals."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools_support import WRITER, appears, stays

from artificer.backends.loader import load_folder
from artificer.backends.refusal import refuse
from artificer.backends.session.executor import SessionExecutor
from artificer.backends.session.terminal import Terminal
from artificer.contracts.schema import compile_schema
from artificer.manifests.keys import LimitKeys
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call, Receipt
from artificer.storage.blobs.memory import MemoryStore
from needs import require

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"

PYTHON = f"{sys.executable} -q -i"


class Talk:
    """A session's tools, called by the names of its commands."""

    def __init__(
        self,
        startup: str = PYTHON,
        ready: str = "^>>> $",
        *,
        session: str = "",
        commands: str = "",
        seconds: int = 10,
        blobs: MemoryStore | None = None,
    ) -> None:
        text = f"""
            [tool]
            name = "t"
            version = "1"
            description = "d"
            timeout_seconds = {seconds}
            [session]
            startup_command = {json.dumps(startup)}
            ready_pattern = {json.dumps(ready)}
            {session}
            [session.commands.run]
            pattern = ".*"
            description = "Any line."
            {commands}
        """
        manifest = parse_manifest(text, "t.clad.toml")
        self.executor = SessionExecutor([manifest], blobs=blobs)
        self.tools = {tool.name: tool for tool in self.executor.tools}

    async def run(self, line: str, run: str = "r") -> dict[str, Any]:
        """Send any line, and return what the model reads."""
        read: dict[str, Any] = json.loads((await self.call("run", run, command=line)).content)
        return read

    async def call(self, command: str, run: str = "r", /, **arguments: Any) -> Receipt:
        """Call a command's tool, as the gate does: its schema comes first."""
        tool = self.tools[f"t.{command}"]
        if problems := compile_schema(tool.input_schema).problems(arguments):
            return refuse(tool.name, problems)
        return await self.executor.execute(Call(run, "c", tool, arguments, "k"))

    async def __aenter__(self) -> Talk:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.executor.release("r")


@pytest.mark.req("session-state")
async def test_a_program_remembers_from_call_to_call_within_its_run() -> None:
    async with Talk() as talk:
        assert await talk.run("x = 41") == {
            "status": "success",
            "ready": True,
            "started": True,
            "prompt": ">>> ",
            "output": "",
        }
        assert await talk.run("x + 1") == {"status": "success", "ready": True, "output": "42"}
        other = await talk.run("x", run="another run")
        assert "NameError" in other["output"]
        await talk.executor.release("another run")


@pytest.mark.req("session-state")
async def test_the_calls_of_one_turn_are_performed_one_after_the_other() -> None:
    async with Talk() as talk:
        said = await asyncio.gather(*(talk.run(f"print({n}); print({n})") for n in range(5)))
    assert [answer["output"] for answer in said] == [f"{n}\n{n}" for n in range(5)]


@pytest.mark.req("session-output")
async def test_output_is_text_without_prompt_echo_colours_and_broken_bytes() -> None:
    async with Talk() as talk:
        await talk.run("import os")
        written = r"os.write(1, b'\x1b[31mred\x1b[0m \x1b]0;title\x07\xff 50%\r100%\n') and None"
        assert (await talk.run(written))["output"] == "100%"
        written = r"os.write(1, b'\x1b[31mred\x1b[0m \x1b]0;title\x07\xff\n') and None"
        assert (await talk.run(written))["output"] == "red \ufffd"


@pytest.mark.req("session-output")
async def test_output_without_end_is_interrupted_and_kept_at_both_ends() -> None:
    blobs = MemoryStore()
    most = "[session.interaction]\noutput_max_bytes = 20000"
    async with Talk(session=most, seconds=1, blobs=blobs) as talk:
        receipt = await talk.call("run", command="exec('while True: print(\\'flood\\')')")
        envelope = json.loads(receipt.evidence or "")
        assert receipt.status == "timeout"
        assert envelope["output"]["truncated"] and envelope["output"]["size"] > 20_000
        assert len(receipt.content) <= 32_000
        assert len(blobs.get(envelope["blob"])) < 21_000
        # That it answers again shows that it was interrupted, however late it said so.
        assert "'still here'" in str((await talk.run("'still ' + 'here'"))["output"])


@pytest.mark.req("session-output")
async def test_what_came_between_two_calls_is_told_apart(tmp_path: Path) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    (tmp_path / "late.py").write_text(
        "import pathlib, threading, time\n"
        "def late():\n"
        f"    while not pathlib.Path({str(go)!r}).exists():\n        time.sleep(0.01)\n"
        f"    print('late', flush=True)\n    pathlib.Path({str(done)!r}).write_text('x')\n"
        "threading.Thread(target=late).start()\n"
    )
    async with Talk() as talk:
        await talk.run(f"exec(open({str(tmp_path / 'late.py')!r}).read())")
        go.touch()
        await appears(done)
        answer = await talk.run("1")
    assert "late" in answer["before"] and answer["output"] == "1"


@pytest.mark.req("session-ready")
async def test_a_program_without_a_prompt_is_ready_when_it_is_silent() -> None:
    async with Talk("cat", "", session="[session.interaction]\noutput_wait_ms = 1000") as talk:
        assert (await talk.run("hello"))["output"] == "hello"


@pytest.mark.req("session-ready")
async def test_an_unfinished_line_is_returned_as_not_ready() -> None:
    quick = "[session.interaction]\noutput_wait_ms = 1000"
    async with Talk(session=quick) as talk:
        answer = await talk.run("name = input('Your name: ')")
        assert (answer["ready"], answer["output"]) == (False, "Your name: ")
        assert (await talk.run("Ada"))["ready"] is True
        assert (await talk.run("name"))["output"] == "'Ada'"


CONTROL = st.characters(categories=["Cc", "Zl", "Zp"])


@pytest.mark.req("session-line")
@given(before=st.text(max_size=5), control=CONTROL, after=st.text(max_size=5))
async def test_no_control_character_reaches_a_program(
    before: str, control: str, after: str
) -> None:
    talk = Talk("/nonexistent/program")
    receipt = await talk.call("run", command=before + control + after)
    assert receipt.status == "invalid"


TYPED = """
    [session.commands.add]
    description = "Add."
    template = "print({a} + {b}, '{text}', '{{a}}')"
    [session.commands.add.args.a]
    type = "integer"
    required = true
    [session.commands.add.args.b]
    type = "integer"
    default = 1
    [session.commands.add.args.text]
    pattern = "[a-z{}]+"
    default = "x"
    [session.commands.list]
    description = "List."
    pattern = "ls [a-z]+|pwd"
"""


@pytest.mark.req("session-line")
async def test_typed_arguments_make_the_line_and_are_never_read_for_placeholders() -> None:
    async with Talk(commands=TYPED) as talk:
        receipt = await talk.call("add", a=2, text="{b}")
        assert json.loads(receipt.content)["output"] == "3 {b} {a}"
        assert json.loads(receipt.evidence or "")["line"] == "print(2 + 1, '{b}', '{a}')"
        assert (await talk.call("add", a=2, text="x'); import os #")).status == "invalid"
        assert (await talk.call("add", a=2, text="x", other=1)).status == "invalid"


@pytest.mark.req("session-line")
@pytest.mark.parametrize("line", ["ls", "ls x; pwd", "xpwd", "pwdx", "ls A"])
async def test_a_line_matches_its_pattern_as_a_whole(line: str) -> None:
    talk = Talk("/nonexistent/program", commands=TYPED)
    assert (await talk.call("list", command=line)).status == "invalid"


@pytest.mark.req("session-line")
async def test_a_line_too_long_for_a_terminal_is_refused() -> None:
    talk = Talk("/nonexistent/program")
    assert (await talk.call("run", command="é" * 2_001)).status == "invalid"


SCOPED = """
[tool]
name = "t"
version = "1"
description = "d"
[session]
startup_command = "cat"
ready_pattern = ""
[session.interaction]
output_wait_ms = 50
[session.commands.scan]
pattern = "scan .*"
description = "Scan."
extract_target = true
"""


@pytest.mark.req("session-line")
async def test_the_targets_of_a_line_are_held_to_the_scope(tmp_path: Path) -> None:
    (tmp_path / "t.clad.toml").write_text(SCOPED)
    (tmp_path / "toolclad.toml").write_text('[scope]\nallow = ["10.0.0.0/8", "*.example.org"]\n')
    executor = SessionExecutor([tool.manifest for tool in load_folder(tmp_path)])

    async def status(line: str) -> str:
        call = Call("r", "c", executor.tools[0], {"command": line}, "k")
        return (await executor.execute(call)).status

    assert await status("scan 10.1.2.3 a.example.org") == "ok"
    assert await status("scan 10.1.2.3:80 b@a.example.org 10.2.0.0/16 -p 80") == "ok"
    for line in ("scan 10.1.2.3 11.1.2.3", "scan http://evil.org/", "scan", "scan host=1.1.1.1"):
        assert await status(line) == "invalid", line
    for hidden in (
        *("evil.org:80", "8.8.8.8:53", "b@evil.org", "evil.org/path", "[2001:4860::1]:53"),
        *("2001:4860::1", "b@2001:4860::1", "\\\\evil.org\\share", "evil_host.org", "-oevil.org"),
        *("--host:evil.org", "*.evil.org", "evil.org#a", "0x8.8.8.8", "8.8.8", "8.8.8.8-9"),
    ):
        assert await status(f"scan 10.1.2.3 {hidden}") == "invalid", hidden
    await executor.release("r")


@pytest.mark.req("session-line")
async def test_a_line_is_not_written_to_a_terminal_that_was_closed(tmp_path: Path) -> None:
    """The number of its descriptor may be that of another file by then."""
    terminal = Terminal.start(
        ("sleep", "60"), env={"PATH": os.environ["PATH"]}, cwd=tmp_path, limits=LimitKeys()
    )
    line = asyncio.create_task(terminal.send(b"x" * 1_000_000))
    await asyncio.sleep(0.05)  # the terminal takes no more
    ending = asyncio.create_task(terminal.end())
    with pytest.raises(OSError, match="Bad file descriptor"):
        await line
    await ending


@pytest.mark.req("session-limits")
async def test_a_program_that_shows_no_prompt_in_time_is_ended_with_its_last_output() -> None:
    slow = f"{sys.executable} -c \"import time; print('working'); time.sleep(60)\""
    async with Talk(slow, session="startup_timeout_seconds = 1") as talk:
        receipt = await talk.call("run", command="x")
    answer = json.loads(receipt.content)
    assert (receipt.status, answer["output"]) == ("timeout", "working")
    assert "no prompt within 1 s" in answer["fault"]


@pytest.mark.req("session-limits")
async def test_a_program_that_is_not_used_is_ended_and_the_next_call_is_told() -> None:
    async with Talk(session="idle_timeout_seconds = 1") as talk:
        await talk.run("x = 1")
        pid = int((await talk.run("import os; print(os.getpid())"))["output"])
        await _gone(pid)
        answer = await talk.run("x")
        assert answer["status"] == "error" and "session is lost" in answer["fault"]
        again = await talk.run("x")
        assert again["started"] is True and "NameError" in again["output"]


@pytest.mark.req("session-limits")
async def test_time_and_number_of_interactions_are_those_of_the_run() -> None:
    async with Talk(session="session_timeout_seconds = 1") as talk:
        answer = await talk.run("import time; time.sleep(30)")
        assert answer["status"] == "error" and "1 s are over" in answer["fault"]
        assert "are over" in (await talk.run("1"))["fault"]
    async with Talk(session="max_interactions = 2") as talk:
        assert [(await talk.run("1"))["status"] for _ in range(3)] == [
            "success",
            "success",
            "error",
        ]


@pytest.mark.req("session-end")
async def test_the_whole_tree_is_ended_with_the_run_even_if_it_ignores_every_request(
    tmp_path: Path,
) -> None:
    grown = tmp_path / "grown"
    async with Talk() as talk:
        await talk.run("import os, signal, subprocess, sys")
        await talk.run("ignore = lambda: [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 15)]")
        await talk.run("_ = ignore()")
        child = f"[sys.executable, '-c', {WRITER!r}, {str(grown)!r}]"
        await talk.run(f"p = subprocess.Popen({child}, start_new_session=True)")
        pid = int((await talk.run("os.getpid()"))["output"])
        await appears(grown)
    await _gone(pid)
    assert await stays(grown)


@pytest.mark.req("session-end")
async def test_a_program_that_ignores_interrupts_is_ended_when_its_time_is_up() -> None:
    async with Talk(seconds=1) as talk:
        await talk.run("import signal, time; _ = signal.signal(2, signal.SIG_IGN)")
        answer = await talk.run("time.sleep(60)")
        assert answer["status"] == "timeout" and "was ended" in answer["fault"]
        assert (await talk.run("1"))["started"] is True


@pytest.mark.req("session-end")
async def test_a_cancelled_call_ends_the_program(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    async with Talk() as talk:
        pid = int((await talk.run("import os; print(os.getpid())"))["output"])
        line = (
            f"import time; print('x', file=open({str(begun)!r}, 'w'), flush=True); time.sleep(600)"
        )
        task = asyncio.create_task(talk.run(line))
        await appears(begun)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await _gone(pid)


@pytest.mark.req("session-end")
@pytest.mark.parametrize("turns", [1, 2, 3])
async def test_a_cancelled_release_ends_the_program_first(turns: int) -> None:
    async with Talk() as talk:
        pid = int((await talk.run("import os; print(os.getpid())"))["output"])
        releasing = asyncio.create_task(talk.executor.release("r"))
        for _ in range(turns):
            await asyncio.sleep(0)
        releasing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await releasing
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.req("session-crash")
async def test_a_program_that_ends_is_told_of_with_its_last_words() -> None:
    async with Talk() as talk:
        answer = await talk.run("import os; print('bye'); os._exit(3)")
        assert (answer["status"], answer["output"]) == ("error", "bye")
        assert "exit code 3" in answer["fault"]
        assert (await talk.run("exit()"))["started"] is True
    async with Talk() as talk:
        assert (await talk.run("exit()"))["status"] == "success"


@pytest.mark.req("session-crash")
async def test_a_program_that_died_between_two_calls_is_told_of_once() -> None:
    async with Talk() as talk:
        pid = int((await talk.run("import os; print(os.getpid())"))["output"])
        os.kill(pid, 9)
        await _gone(pid)
        assert "it ended between two calls" in (await talk.run("1"))["fault"]
        assert (await talk.run("1"))["output"] == "1"


@pytest.mark.req("session-crash")
async def test_after_a_resumption_the_first_call_says_that_the_session_is_lost() -> None:
    async with Talk() as talk:
        talk.executor.recall("r", {"t.run": 1, "something else": 1})
        assert "when the run was interrupted" in (await talk.run("x"))["fault"]
        assert (await talk.run("1"))["started"] is True


@pytest.mark.req("session-crash")
async def test_a_program_that_cannot_be_started_is_an_error_result() -> None:
    async with Talk("no-such-program-here") as talk:
        answer = await talk.run("x")
    assert answer["status"] == "error" and "could not be started" in answer["fault"]


@pytest.mark.req("session-environment")
async def test_a_program_sees_a_terminal_and_none_of_our_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-secret")
    async with Talk() as talk:
        await talk.run("import os, signal, sys")
        assert (await talk.run("'SOME_API_KEY' in os.environ"))["output"] == "False"
        assert (await talk.run("sys.stdin.isatty()"))["output"] == "True"
        assert (await talk.run("os.getsid(0) == os.getpid()"))["output"] == "True"
        assert (await talk.run("os.close(os.open('/dev/tty', os.O_RDWR))"))["output"] == ""


NEEDED = {"sqlite": "python3", "python": "python3", "bc": "bc"}


@pytest.mark.req("session-examples")
@pytest.mark.parametrize(
    ("name", "calls", "output"),
    [
        (
            "sqlite",
            [
                ("change", {"command": "CREATE TABLE t(a);"}),
                ("change", {"command": "INSERT INTO t VALUES (7);"}),
                ("query", {"command": "SELECT a FROM t;"}),
            ],
            '[{"a":7}]',
        ),
        ("python", [("run", {"command": "x = 6 * 7"}), ("show", {"name": "x"})], "42"),
        (
            "bc",
            [
                ("calculate", {"command": "x = 2^70"}),
                ("calculate", {"command": "x"}),
            ],
            "1180591620717411303424",
        ),
    ],
)
async def test_the_examples_work(
    name: str, calls: list[tuple[str, dict[str, str]]], output: str
) -> None:
    require(NEEDED[name])
    file = EXAMPLES / f"{name}_session.clad.toml"
    executor = SessionExecutor([parse_manifest(file.read_text(), file.name)])
    tools = {tool.name: tool for tool in executor.tools}
    try:
        for command, arguments in calls:
            tool = tools[f"{name}.{command}"]
            receipt = await executor.execute(Call("r", "c", tool, arguments, "k"))
            assert receipt.status == "ok", receipt.content
    finally:
        await executor.release("r")
    assert json.loads(receipt.content)["output"] == output


@pytest.mark.req("session-examples")
async def test_bash_is_spoken_to_like_any_other_program() -> None:
    async with Talk("bash --norc --noprofile -i", r"^bash-[0-9.]+[$#] $") as talk:
        await talk.run("cd /usr")
        assert (await talk.run("pwd"))["output"] == "/usr"
        assert (await talk.run("exit 4"))["fault"].startswith("The program has ended (exit code 4)")


async def _gone(pid: int) -> None:
    for _ in range(1_000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"process {pid} is still there")


@pytest.mark.req("path-operand")
async def test_a_path_in_a_line_stays_in_the_folder_and_is_a_file(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside").write_text("outside")
    (inside / "link").symlink_to("../outside")
    manifest = parse_manifest(
        '[tool]\nname = "s"\nversion = "1"\ndescription = "d"\n[session]\n'
        'startup_command = "cat"\nready_pattern = ""\n'
        "[session.interaction]\noutput_wait_ms = 500\n[session.commands.open]\n"
        'description = "d"\ntemplate = "open {file}"\n'
        '[session.commands.open.args.file]\ntype = "path"\npattern = ".*"\nrequired = true\n',
        "s.clad.toml",
    )
    executor = SessionExecutor([manifest], cwd=inside)
    (opening,) = executor.tools
    try:
        left = await executor.execute(Call("r", "c", opening, {"file": "link"}, "k"))
        made = await executor.execute(Call("r", "d", opening, {"file": "host:x"}, "k"))
    finally:
        await executor.release("r")
    assert left.status == "invalid"
    assert "open ./host:x" in made.content
