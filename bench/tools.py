"""Command tools against the format's reference (PyPI ``toolclad``) and bare processes.

Run it with ``make bench``, or ``python bench/tools.py [MEBIBYTES]``. The contestants take turns,
so that a busy moment hits all of them; medians are quoted. A turn is a batch of calls, its first
ones not counted: the reference forks, and who comes next pays for the pages that are copied then.
MEBIBYTES is the size of the flood whose memory is measured (1024): the reference keeps all of it.
"""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

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
ROUNDS, BATCH, UNCOUNTED = 30, 10, 2


def show(what: str, ours: float, theirs: float | None, unit: str) -> None:
    against = f"{theirs:10.3f} {unit}  ratio {ours / theirs:6.2f}" if theirs else "         –"
    print(f"{what:<44}{ours:10.3f} {unit}  reference {against}")


def by_turns(contestants: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median milliseconds of each."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            gc.collect()
            started = time.perf_counter()
            made = work()
            times[name].append(time.perf_counter() - started)
            del made  # what was loaded is for keeping: its end is not counted
    return {name: statistics.median(found) * 1000 for name, found in times.items()}


def load(folder: Path, reference: Any) -> None:
    from artificer.backends.loader import load_folder

    files = sorted(str(file) for file in folder.glob("scan*.toml"))
    contestants: dict[str, Callable[[], Any]] = {"ours": lambda: load_folder(folder)}
    if reference:
        contestants["theirs"] = lambda: [reference.load_manifest(file) for file in files]
    found = by_turns(contestants, 9)
    show("load 1,000 manifests", found["ours"], found.get("theirs"), "ms")


def build(folder: Path, reference: Any) -> None:
    from artificer.backends.loader import load_file

    file = folder / "scan_1.clad.toml"
    manifest = load_file(file).manifest
    given = {"target": "example.org", "count": 3}
    contestants: dict[str, Callable[[], Any]] = {
        "ours": lambda: [manifest.argv(given) for _ in range(1000)]
    }
    if reference:
        from toolclad.executor import build_command_argv

        other = reference.load_manifest(str(file))
        texts = {"target": "example.org", "count": "3"}
        contestants["theirs"] = lambda: [build_command_argv(other, texts) for _ in range(1000)]
    found = by_turns(contestants, 9)  # milliseconds for a thousand: microseconds for one
    show("check arguments, build a command", found["ours"], found.get("theirs"), "µs")


def run_bare() -> None:
    subprocess.run(COMMAND, capture_output=True, stdin=subprocess.DEVNULL, check=True)


async def run_asyncio() -> None:
    none, pipe = subprocess.DEVNULL, subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*COMMAND, stdin=none, stdout=pipe, stderr=pipe)
    await process.communicate()


def blocking(work: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    async def call() -> Any:
        return work()

    return call


async def call_by_turns(contestants: dict[str, Callable[[], Awaitable[Any]]]) -> dict[str, float]:
    """The median milliseconds of one call of each."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, call in contestants.items():
            for number in range(UNCOUNTED + BATCH):
                started = time.perf_counter()
                await call()
                if number >= UNCOUNTED:
                    times[name].append(time.perf_counter() - started)
    return {name: statistics.median(found) * 1000 for name, found in times.items()}


def execute(folder: Path, reference: Any) -> None:
    """Print what one call costs over a bare process, in milliseconds."""
    from artificer.backends.command.executor import CommandExecutor
    from artificer.backends.loader import load_file
    from artificer.ports import Call

    file = folder / "scan_1.clad.toml"
    tool = load_file(file)
    executor = CommandExecutor([tool], cwd=folder)
    call = Call("run", "call", tool.definition, {"target": "example.org"}, "key")
    contestants: dict[str, Callable[[], Awaitable[Any]]] = {
        "ours": lambda: executor.execute(call),
        "subprocess.run": blocking(run_bare),
        "asyncio": run_asyncio,
    }
    if reference:
        other = reference.load_manifest(str(file))
        given = {"target": "example.org"}
        contestants["theirs"] = blocking(lambda: reference.execute(other, given))
    found = asyncio.run(call_by_turns(contestants))
    theirs = found.get("theirs")
    show("execute echo, p50", found["ours"], theirs, "ms")
    for bare in ("subprocess.run", "asyncio"):
        plain = found[bare]
        over = theirs - plain if theirs else None
        show(f"  over bare {bare}, {plain:.3f} ms", found["ours"] - plain, over, "ms")


def highest_mib() -> float:
    """The most memory that this process has had; unlike ru_maxrss, not what its parent had."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def memory(folder: Path, size: int, who: str) -> None:
    """Run one flood in this process and print by how many MiB it grew, and the seconds."""
    file = folder / "flood.clad.toml"
    file.write_text(FLOOD.replace("{bytes}", str(size)))
    started = time.perf_counter()
    if who == "ours":
        from artificer.backends.command.executor import CommandExecutor
        from artificer.backends.loader import load_file
        from artificer.ports import Call
        from artificer.storage.blobs.disk import DiskStore

        tool = load_file(file)
        executor = CommandExecutor([tool], cwd=folder, blobs=DiskStore(folder / "b", "process"))
        before = highest_mib()
        asyncio.run(executor.execute(Call("run", "call", tool.definition, {}, "key")))
    else:
        import toolclad

        manifest = toolclad.load_manifest(str(file))
        before = highest_mib()
        toolclad.execute(manifest, {})
    grown = highest_mib() - before
    print(f"{grown:.1f} {time.perf_counter() - started:.2f}")


def flood(folder: Path, size: int, who: str) -> tuple[float, float]:
    words = [sys.executable, __file__, "--memory", str(folder), str(size), who]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    grown, seconds = printed.split()
    return float(grown), float(seconds)


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        memory(Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
        return
    size = (int(sys.argv[1]) if len(sys.argv) > 1 else 1024) * 1024 * 1024
    try:
        import toolclad as reference
    except ModuleNotFoundError:
        reference = None
        print("toolclad is not installed: only our own numbers")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TOOLCLAD_EVIDENCE_DIR"] = str(folder / "theirs")
        for n in range(1000):
            (folder / f"scan_{n}.clad.toml").write_text(MANIFEST.format(n=n))
        load(folder, reference)
        build(folder, reference)
        execute(folder, reference)
        ballast = bytearray(1536 * 1024 * 1024)
        for page in range(0, len(ballast), 4096):
            ballast[page] = 1
        print("with 1.5 GiB in use here:")
        execute(folder, reference)
        del ballast
        ours = flood(folder, size, "ours")
        theirs = flood(folder, size, "theirs") if reference else (None, None)
        show(f"memory at {size >> 20} MiB of output", ours[0], theirs[0], "MiB")
        show(f"time at {size >> 20} MiB of output", ours[1], theirs[1], "s")


if __name__ == "__main__":
    main()
