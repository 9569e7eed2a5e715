"""Serving: streamed runs over FastAPI and uvicorn, next to Pydantic AI doing the same.

    python bench/serve.py [--rounds 5] [--runs 100] [--concurrent 50] [--pause-ms 10]

Both services stream the text of one model, which is a local process of its own, to clients that
read it as it comes; the model pauses before each of its 40 pieces. The services are processes,
too: a figure is the wall time of a run among so many at a time, and the seconds on a processor of
the service alone. Ours keeps every run in a
journal on the disk, with the settings of a new project; the peer keeps nothing.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from measure import ENVIRONMENT, HERE, Contestant, Row, Spent, by_turns, installed, main, row
from serving import PIECE, PIECES

PEER = "pydantic_ai"


@contextmanager
def started(*process: str, **environment: str) -> Iterator[int]:
    """Start a process of ``serving.py``, and yield its port."""
    words = [sys.executable, str(HERE / "serving.py"), *process]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env={**ENVIRONMENT, **environment}
    ) as running:
        assert running.stdout is not None
        try:
            yield int(running.stdout.readline())
        finally:
            running.terminate()


async def get(port: int, path: str) -> bytes:
    """The body of an answer, as chunks or whole."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
    writer.close()
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"{path} of port {port} answered {head.decode()!r}")
    return body


async def ask(port: int, runs: int, concurrent: int) -> Spent:
    """Seconds of one run of so many: wall, and the processor's in the service."""
    slots = asyncio.Semaphore(concurrent)

    async def one() -> None:
        async with slots:
            body = await get(port, "/ask")
        if body.count(PIECE.split()[0].encode()) != PIECES:
            raise SystemExit(f"port {port} streamed {body.decode()!r}")

    before, start = float(await get(port, "/cpu")), time.perf_counter()
    await asyncio.gather(*(one() for _ in range(runs)))
    wall = time.perf_counter() - start
    return Spent(wall, float(await get(port, "/cpu")) - before).each(runs)


def contestant(port: int, runs: int, concurrent: int) -> Contestant:
    return lambda: asyncio.run(ask(port, runs, concurrent))


def rows(
    rounds: int = 5, runs: int = 100, concurrent: int = 50, pause_ms: int = 10
) -> Iterator[Row]:
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory())
        url = f"http://127.0.0.1:{stack.enter_context(started('model', str(pause_ms)))}"
        names = ["artificer", *([PEER] if installed(PEER) else [])]
        settings = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "ARTIFICER_HOME": home}
        figures = by_turns(
            {
                name: contestant(stack.enter_context(started(name, **settings)), runs, concurrent)
                for name in names
            },
            rounds,
        )
    what = f"a streamed run over FastAPI, {concurrent} at a time / Pydantic AI"
    yield row(what, figures, "artificer", PEER, clock="cpu", goal="≤ 0.8")
    yield row(what, figures, "artificer", PEER, goal="≤ 0.8")


if __name__ == "__main__":
    main(rows)
