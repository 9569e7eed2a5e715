"""Command tools against the format's reference (PyPI ``toolclad``) and bare ``subprocess``.

Run it with ``python bench/tools.py [MEBIBYTES]``, after ``pip install toolclad``, or with its
folder on PYTHONPATH. All take turns in one run, so that a busy moment hits all of them; medians
are quoted. MEBIBYTES is the size of the flood whose memory is measured (1024): the reference
keeps all of it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
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


def median_ms(work: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


def show(what: str, ours: float, theirs: float | None, unit: str) -> None:
    against = f"{theirs:10.3f} {unit}  ratio {ours / theirs:6.2f}" if theirs else "         –"
    print(f"{what:<44}{ours:10.3f} {unit}  reference {against}")


def load(folder: Path, reference: Any) -> None:
    from artificer.tools.loader import load_folder

    files = sorted(folder.glob("scan*.toml"))
    ours, theirs = [], []
    for _ in range(5):
        ours.append(median_ms(lambda: load_folder(folder), 1))
        if reference:
            theirs.append(median_ms(lambda: [reference.load_manifest(str(f)) for f in files], 1))
    show("load 1,000 manifests", min(ours), min(theirs) if theirs else None, "ms")


def build(folder: Path, reference: Any) -> None:
    from artificer.tools.loader import load_file

    manifest = load_file(folder / "scan_1.clad.toml").manifest
    given = {"target": "example.org", "count": 3}
    theirs = None
    if reference:
        from toolclad.executor import build_command_argv

        other = reference.load_manifest(str(folder / "scan_1.clad.toml"))
        texts = {"target": "example.org", "count": "3"}
        theirs = median_ms(lambda: [build_command_argv(other, texts) for _ in range(200)], 15) * 5
    ours = median_ms(lambda: [manifest.argv(given) for _ in range(200)], 15) * 5
    show("build one command", ours, theirs, "µs")


def run_bare() -> None:
    command = ["echo", "-sV", "--count=1", "example.org"]
    subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=True)


def highest_mib() -> float:
    """The most memory that this process has had; unlike ru_maxrss, not what its parent had."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def execute(folder: Path, reference: Any) -> tuple[float, float]:
    """Print the medians of one call; return ours and the bare one, in milliseconds."""
    from artificer.ports import Call
    from artificer.tools.command import CommandExecutor
    from artificer.tools.loader import load_file

    tool = load_file(folder / "scan_1.clad.toml")
    executor = CommandExecutor([tool], cwd=folder)
    call = Call("run", "call", tool.definition, {"target": "example.org"}, "key")
    other = reference.load_manifest(str(folder / "scan_1.clad.toml")) if reference else None
    ours, theirs, bare = [], [], []

    async def rounds() -> None:
        for _ in range(300):
            started = time.perf_counter()
            await executor.execute(call)
            ours.append(time.perf_counter() - started)
            started = time.perf_counter()
            run_bare()
            bare.append(time.perf_counter() - started)
            if other is not None:
                started = time.perf_counter()
                reference.execute(other, {"target": "example.org"})
                theirs.append(time.perf_counter() - started)

    asyncio.run(rounds())
    own, plain = statistics.median(ours) * 1000, statistics.median(bare) * 1000
    show("execute echo, p50", own, statistics.median(theirs) * 1000 if theirs else None, "ms")
    print(f"{'  over bare subprocess.run, p50 ' + f'{plain:.3f} ms':<44}{own - plain:10.3f} ms")
    return own, plain


def memory(folder: Path, size: int, who: str) -> None:
    """Run one flood in this process and print by how many MiB it grew, and the seconds."""
    file = folder / "flood.clad.toml"
    file.write_text(FLOOD.replace("{bytes}", str(size)))
    started = time.perf_counter()
    if who == "ours":
        from artificer.ports import Call
        from artificer.store.disk import DiskStore
        from artificer.tools.command import CommandExecutor
        from artificer.tools.loader import load_file

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
