"""Command tools against the format's reference (PyPI ``toolclad``) and bare processes.

    python bench/tools.py [--rounds 9] [--mebibytes 256] [--ballast 512]

The whole gate takes the text that a model wrote through parsing, schema and policy to the argv of
a command; the reference parses the same text, checks the arguments and builds the argv. A call is
made by the executor alone, without the gate and the journal. Calls are made in batches, the first
ones not counted: the reference forks, and the next to run pays for the pages that are copied then;
BALLAST is how many mebibytes are in use meanwhile. MEBIBYTES is the size of the output whose memory
is measured: the reference keeps all of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from artificer.backends.command.executor import CommandExecutor
from artificer.backends.command.spec.section import bind_command, command_line
from artificer.backends.loader import load_file, load_folder
from artificer.contracts.definition import Toolset
from artificer.core.gate import judge
from artificer.core.policy import Occasion, Policy, Rule
from artificer.core.rules import RULES
from artificer.ports import Call
from artificer.storage.blobs.disk import DiskStore
from artificer.values.base import JsonObject
from artificer.values.blocks import ToolUseBlock
from measure import (
    Contestant,
    Figures,
    Row,
    Spent,
    by_turns,
    highest_mib,
    in_child,
    installed,
    main,
    row,
    spent_by,
    timed,
)

MANIFEST = """
[tool]
name = "scan_{n}"
version = "1.0.0"
binary = "echo"
description = "Look at a host, number {n}."
timeout_seconds = 600
risk_tier = "low"

[args.target]
position = 1
type = "scope_target"
description = "A host name, an address or a network."
required = true

[args.profile]
position = 2
type = "enum"
description = "How to look."
allowed = ["ping", "service", "syn"]
default = "service"

[args.count]
position = 3
type = "integer"
description = "How often."
default = 1
min = 1
max = 10

[command]
exec = ["echo", "{{_profile_flags}}", "--count={{count}}", "{{target}}"]

[command.mappings.profile]
ping = "-sn"
service = "-sV"
syn = "-sS"

[output]
format = "text"
"""

FLOOD = """
[tool]
name = "flood"
version = "1"
binary = "head"
description = "A flood."
timeout_seconds = 600
[command]
exec = ["head", "-c", "{bytes}", "/dev/zero"]
[output]
format = "text"
"""


COMMAND = ["echo", "-sV", "--count=1", "example.org"]
BATCH, UNCOUNTED = 10, 2
MANIFESTS, TEXTS = 1_000, 200


def read(folder: Path, files: list[str], rounds: int) -> Figures:
    contestants = {"ours": timed(lambda: load_folder(folder))}
    if installed("toolclad"):
        import toolclad

        contestants["theirs"] = timed(lambda: [toolclad.load_manifest(file) for file in files])
    return by_turns(contestants, rounds)


def gate(file: str, rounds: int) -> Figures:
    """From the text of a call to its argv; and from values that are checked already."""
    tool = load_file(Path(file))
    toolset = Toolset(tools=(tool.definition,))
    policy = Policy(rules=(Rule(decision="deny", risk=("critical",)), Rule(decision="allow")))
    occasion = Occasion(rules=RULES)
    texts = [
        json.dumps({"target": f"host{n}.example.org", "count": 3, "profile": "syn"})
        for n in range(TEXTS)
    ]

    def judged(text: str) -> Any:
        use = ToolUseBlock(id="call", name=tool.definition.name, arguments=text)
        (verdict,) = judge(
            (use,),
            toolset=toolset,
            policy=policy,
            made=(),
            limit=8,
            stop="tool_use",
            occasion=occasion,
        )
        return argv_of(json.loads(verdict.arguments or ""))

    def argv_of(given: JsonObject) -> Any:
        return command_line(tool.manifest, bind_command(tool.manifest, given))

    values = [json.loads(text) for text in texts]
    contestants = {
        "ours": timed(lambda: [judged(text) for text in texts]),
        "ours, argv": timed(lambda: [argv_of(given) for given in values]),
    }
    if installed("toolclad"):
        from toolclad import load_manifest
        from toolclad.executor import build_command_argv

        other = load_manifest(file)

        def checked(text: str) -> Any:
            given = json.loads(text)
            return build_command_argv(other, {name: str(value) for name, value in given.items()})

        contestants["theirs"] = timed(lambda: [checked(text) for text in texts])
    found = by_turns(contestants, rounds)
    return {name: [spent.each(TEXTS) for spent in figures] for name, figures in found.items()}


async def run_asyncio() -> None:
    none, pipe = subprocess.DEVNULL, subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*COMMAND, stdin=none, stdout=pipe, stderr=pipe)
    await process.communicate()


def run_bare() -> None:
    subprocess.run(COMMAND, capture_output=True, stdin=subprocess.DEVNULL, check=True)


def batch(work: Callable[[], Any]) -> Contestant:
    """A contestant that does the work a few times first."""

    def measure() -> Spent:
        for _ in range(UNCOUNTED):
            work()
        return timed(work, BATCH)()

    return measure


def async_batch(work: Callable[[], Any]) -> Contestant:
    async def several(count: int) -> None:
        for _ in range(count):
            await work()

    async def measure() -> Spent:
        await several(UNCOUNTED)
        return (await spent_by(several(BATCH))).each(BATCH)

    return lambda: asyncio.run(measure())


def execute(file: str, folder: Path, rounds: int) -> Figures:
    tool = load_file(Path(file))
    executor = CommandExecutor([tool], cwd=folder)
    call = Call("run", "call", tool.definition, {"target": "example.org"}, "key")
    contestants = {
        "ours": async_batch(lambda: executor.execute(call)),
        "asyncio": async_batch(run_asyncio),
        "subprocess.run": batch(run_bare),
    }
    if installed("toolclad"):
        import toolclad

        other = toolclad.load_manifest(file)
        contestants["theirs"] = batch(lambda: toolclad.execute(other, {"target": "example.org"}))
    return by_turns(contestants, rounds)


def calls(file: str, folder: Path, rounds: int, among: str) -> Iterator[Row]:
    figures = execute(file, folder, rounds)
    yield row(f"a call of `echo`{among} / the reference", figures, "ours", "theirs")
    for bare in ("subprocess.run", "asyncio"):
        yield row(f"a call of `echo`{among} / bare `{bare}`", figures, "ours", bare)


async def our_flood(folder: str, file: str) -> list[float]:
    """MiB by which this process grew, and the seconds."""
    tool = load_file(Path(file))
    blobs = DiskStore(Path(folder) / "blobs", "process")
    executor = CommandExecutor([tool], cwd=Path(folder), blobs=blobs)
    before = highest_mib()
    call = Call("run", "call", tool.definition, {}, "key")
    spent = await spent_by(executor.execute(call))
    return [highest_mib() - before, spent.wall]


def their_flood(folder: str, file: str) -> list[float]:
    import toolclad

    manifest = toolclad.load_manifest(file)
    before = highest_mib()
    spent = timed(lambda: toolclad.execute(manifest, {}))()
    return [highest_mib() - before, spent.wall]


def flood(folder: Path, mebibytes: int) -> Iterator[Row]:
    file = folder / "flood.clad.toml"
    file.write_text(FLOOD.replace("{bytes}", str(mebibytes << 20)), encoding="utf-8")
    memory, seconds = in_child(our_flood, str(folder), str(file))
    memory_there = seconds_there = None
    if installed("toolclad"):
        memory_there, seconds_there = in_child(their_flood, str(folder), str(file))
    yield Row(f"memory at {mebibytes} MiB of output / the reference", "MiB", memory, memory_there)
    what = f"time at {mebibytes} MiB of output / the reference"
    yield Row(what, "s wall", seconds, seconds_there)


def rows(rounds: int = 9, mebibytes: int = 256, ballast: int = 512) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TOOLCLAD_EVIDENCE_DIR"] = str(folder / "theirs")
        files = [str(folder / f"scan_{n}.clad.toml") for n in range(MANIFESTS)]
        for n, file in enumerate(files):
            Path(file).write_text(MANIFEST.format(n=n), encoding="utf-8")
        figures = gate(files[1], rounds)
        what = "the whole gate for a command tool / the reference"
        yield row(what, figures, "ours", "theirs", clock="cpu", unit="µs", goal="≤ 1")
        what = "the argv alone, of checked values / the reference"
        yield row(what, figures, "ours, argv", "theirs", clock="cpu", unit="µs")
        figures = read(folder, files, rounds)
        what = f"load {MANIFESTS:,} manifests / the reference"
        yield row(what, figures, "ours", "theirs", clock="cpu")
        yield from calls(files[1], folder, rounds, "")
        pages = bytearray(ballast << 20)
        pages[::4096] = b"x" * len(pages[::4096])
        yield from calls(files[1], folder, rounds, f" with {ballast} MiB in use")
        del pages
        yield from flood(folder, mebibytes)


if __name__ == "__main__":
    main(rows)
