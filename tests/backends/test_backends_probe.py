"""``[tool.probe]``: after a kill the world is asked, and nothing is done twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from http_support import Seen, answer, serving
from tools_support import appears

import preloaded
from artificer.agent import Agent
from artificer.backends.command.executor import CommandExecutor
from artificer.backends.sandbox.grants import Grants
from artificer.backends.sandbox.sandbox import findings
from artificer.config import Config
from artificer.core import events as ev
from artificer.errors import ManifestError
from artificer.manifests.model import ManifestFile
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call
from artificer.providers.scripted import ScriptedProvider, say
from artificer.secrets.resolver import of_environment
from artificer.values.blocks import ToolResultBlock
from artificer.world import World
from needs import require

pytestmark = pytest.mark.req("manifest-probe")
HERE = Path(__file__).parent

LEDGER = """
import os, sys, time
from pathlib import Path
ledger = Path("ledger")
mode, seat, key = sys.argv[1:]
if mode == "find":
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    found = [line for line in lines if line.split() == [seat, key]]
    print("booked:", *found)
    sys.exit({0: 1, 1: 0}.get(len(found), 7))
if MODE != "before":
    with ledger.open("a") as file:
        file.write(f"{seat} {key}\\n")
Path("begun").write_text("x")
if not Path("again").exists():
    time.sleep(600)
print("done")
"""
MANIFEST = f"""
[tool]
name = "book"
version = "1"
description = "Book a seat."
effect = "EFFECT"
[tool.probe]
exec = ["{sys.executable}", "ledger.py", "find", "{{seat}}", "{{_idempotency_key}}"]
[args.seat]
required = true
[args.note]
[command]
exec = ["{sys.executable}", "ledger.py", "book", "{{seat}}", "{{_idempotency_key}}", ["{{note}}"]]
"""


async def killed(folder: Path, mode: str, effect: str = "once") -> None:
    """A run that is killed with SIGKILL while its program is under way; the program too."""
    (folder / "tools").mkdir()
    (folder / "tools" / "book.clad.toml").write_text(MANIFEST.replace("EFFECT", effect))
    (folder / "ledger.py").write_text(LEDGER.replace("MODE", repr(mode)))
    process = await preloaded.start(
        str(HERE / "probe_crasher.py"), cwd=folder, start_new_session=True
    )
    await appears(folder / "begun")
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await asyncio.to_thread(kill_programs, folder)
    (folder / "again").write_text("x")


def kill_programs(folder: Path) -> None:
    """End the program that has lost its parent."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            inside = (entry / "cwd").readlink() == folder
        except OSError:
            continue
        if inside and b"ledger.py" in words:
            os.kill(int(entry.name), signal.SIGKILL)


async def resumed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[str]]:
    """The run's results after it was resumed, and what its probes found."""
    monkeypatch.chdir(folder)
    async with World.open(Config(home=folder / "home", project="p")) as world:
        run = await world.resume("r", Agent(model=ScriptedProvider([say("Done.")]), kind="chat"))
        lines = (await world.archive.history("r")).lines
        assert (await world.archive.replay("r")).identical
    results = [
        (b.status, b.content)
        for message in run.state.history
        for b in message.blocks
        if isinstance(b, ToolResultBlock)
    ]
    found = [
        line.event.found
        for line in lines
        if line.kind == "event" and isinstance(line.event, ev.CallProbed)
    ]
    return results, found


@pytest.mark.parametrize("effect", ["once", "keyed"])
@pytest.mark.parametrize(
    ("mode", "found", "status"),
    [("after", "happened", "ok"), ("before", "absent", "ok")],
)
async def test_a_killed_run_asks_and_does_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, found: str, status: str, effect: str
) -> None:
    await killed(tmp_path, mode, effect)
    if mode == "before":  # now it may go on
        (tmp_path / "ledger.py").write_text(LEDGER.replace("MODE", "'after'"))
    ((actual, content),), asked = await resumed(tmp_path, monkeypatch)
    (line,) = (tmp_path / "ledger").read_text().splitlines()
    assert (actual, asked) == (status, [found])
    assert line.startswith("4A ")
    told = json.loads(content)
    if mode == "after":
        assert told["stdout"] == f"booked: {line}\n" and "not repeated" in told["notes"][0]
    else:
        assert told["stdout"] == "done\n"


async def test_what_a_probe_cannot_tell_stays_in_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await killed(tmp_path, "after")
    line = (tmp_path / "ledger").read_text()
    (tmp_path / "ledger").write_text(line * 2)  # two of them: exit code 7
    ((status, content),), asked = await resumed(tmp_path, monkeypatch)
    assert (status, asked) == ("ambiguous", ["unknown"])
    assert "The probe answered 7." in content
    assert (tmp_path / "ledger").read_text() == line * 2


def a_call(executor: Any, **arguments: Any) -> Call:
    return Call(run="r", id="c", definition=executor.tools[0], arguments=arguments, key="k" * 64)


HEAD = '[tool]\nname = "t"\nversion = "1"\ndescription = "d"\n'


async def test_a_probe_is_bounded_and_may_write_nowhere_in_a_sandbox(tmp_path: Path) -> None:
    sandboxes = [found for found in findings() if found.works and found.holds_network]
    text = (
        f'{HEAD}[tool.probe]\nexec = ["touch", "{{x}}"]\n'
        '[args.x]\nrequired = true\n[command]\nexec = ["touch", "{x}"]\n'
    )
    tool = ManifestFile(parse_manifest(text, "t.clad.toml"), str(tmp_path / "t.clad.toml"))
    mode = "required" if sandboxes else "off"
    executor = CommandExecutor([tool], cwd=tmp_path, grants=Grants(mode=mode, writable=(tmp_path,)))
    assert (await executor.execute(a_call(executor, x="made"))).status == "ok"
    if sandboxes:
        probed = await executor.probe(a_call(executor, x="probed"))
        assert (probed.found, (tmp_path / "probed").exists()) == ("absent", False)
    slow = text.replace('"touch", "{x}"]\n[args', '"sleep", "60"]\ntimeout_seconds = 1\n[args')
    executor = CommandExecutor(
        [ManifestFile(parse_manifest(slow, "t.clad.toml"), tool.file)], cwd=tmp_path
    )
    late = await executor.probe(a_call(executor, x="a"))
    assert late.found == "unknown" and "did not end within 1 s" in late.reason


@pytest.mark.parametrize(
    ("status", "found"), [(200, "happened"), (404, "absent"), (500, "unknown"), (302, "unknown")]
)
async def test_a_request_asks_by_the_key(status: int, found: str) -> None:
    require("httpcore2")
    from artificer.backends.http.executor import HttpExecutor

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        answer(status if seen.method == "GET" else 201, "paid")(handler, seen)

    with serving(respond) as server:
        text = (
            f'{HEAD}[tool.probe]\nurl = "{server.url}/pay/{{order}}?key={{_idempotency_key}}"\n'
            'headers = { Authorization = "Bearer {_secret:bank}" }\n'
            "[args.order]\nrequired = true\n[args.sum]\nrequired = true\n"
            f'[http]\nmethod = "POST"\nurl = "{server.url}/pay/{{order}}"\nallow_private = true\n'
            'body = { sum = "{sum}", key = "{_idempotency_key}" }\n'
        )
        manifest = parse_manifest(text, "t.clad.toml")
        environment = {"ARTIFICER_SECRET_BANK": "open-sesame-17"}
        executor = HttpExecutor([manifest], secrets=of_environment(environment))
        assert executor.tools[0].probe
        call = a_call(executor, order="a/b", sum="5")
        assert (await executor.execute(call)).status == "ok"
        probed = await executor.probe(call)
        assert (probed.found, str(status) in probed.reason) == (found, True)
        assert ("paid" in probed.content) == (found == "happened")
        made, asked = server.seen
    assert json.loads(made.body)["key"] == call.key
    assert (asked.method, asked.target) == ("GET", f"/pay/a%2Fb?key={call.key}")
    assert asked.headers["Authorization"] == "Bearer open-sesame-17"
    assert "Idempotency-Key" not in asked.headers


def test_a_request_asks_by_the_method_that_its_section_names() -> None:
    text = (
        f'{HEAD}[tool.probe]\nurl = "http://h/pay/{{order}}"\nmethod = "HEAD"\n'
        "[args.order]\nrequired = true\n"
        '[http]\nmethod = "POST"\nurl = "http://h/pay/{order}"\n'
    )
    probe = parse_manifest(text, "t.clad.toml").probe
    assert probe and probe.form.method == "HEAD"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('effect = "pure"\n[tool.probe]\nexec = ["x"]', "is for 'once' and 'keyed'"),
        ("[tool.probe]\nabsent_exit = [3]", "needs one of 'exec', 'template' and 'url'"),
        ('[tool.probe]\nexec = ["x"]\nurl = "http://h/"', "needs one of"),
        ('[tool.probe]\nurl = "http://h/"', "is a command for a tool with [command]"),
        ('[tool.probe]\nexec = ["x"]\nabsent_exit = [0]', "takes 0 for yes and for no"),
        ('[tool.probe]\nexec = ["x", "{y}"]', "{y} is not an argument"),
        ('[tool.probe]\nexec = ["x", "{_evidence_dir}"]', "a probe has no folder"),
        ('[tool.probe]\nexec = ["sh", "-c", "{a}"]', "into a shell's script"),
        ('[tool.probe]\nexec = ["{a}"]', "program"),
        ("[tool.probe]\nexec = []", "tool.probe"),
        ('[tool.probe]\nexec = ["x"]\nexits = 1', "tool.probe.exits"),
    ],
)
def test_a_probe_that_could_not_ask_is_refused(text: str, fault: str) -> None:
    manifest = f'{HEAD}{text}\n[args.a]\n[command]\nexec = ["x", "{{a}}"]\n'
    with pytest.raises(ManifestError) as caught:
        parse_manifest(manifest, "t.clad.toml")
    assert "tool.probe" in str(caught.value) and fault in str(caught.value)
