"""The studio: a large report in a browser, a run with many watchers, and long lists.

    python bench/studio.py [--watchers 200] [--rounds 5] [--runs 100000] [--browser 0]

The studio is a process of its own, which also executes the run; watchers are connections of this
one: they read the run's events, and load the body of its page as a page does. The same run is
executed without watchers and with them, by turns: each turn streams 40 pieces of text, 10 ms
apart, and calls a tool. Its wall time is what a person waits; the studio's seconds on a processor
are what the watchers cost. `busy` is a run whose model answers at once: all of its time is the
processor's.

The first byte is that of the page of a run with 12 charts and 8 tables. Its full render is the end
of loading in Chromium, with the report in its frame; without Playwright the row is left out. Lists
and searches are those of the library, and of the studio's page and API, each of the second time.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from artificer.backends.browser.window import browser_program
from measure import (
    ENVIRONMENT,
    HERE,
    Contestant,
    Figures,
    Row,
    Spent,
    by_turns,
    installed,
    main,
    row,
    spent_by,
)
from scale import kept_world
from worlds import opened

PACED, BUSY = (40, 0.01), (0, 0.0)
"""Pieces of each reply of a watched run, and seconds after each piece."""


class Served:
    """A studio in another process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        found = self._answer()
        self.port, self.key = found["port"], found["key"]
        self.cookie = ""

    def ask(self, *words: object) -> Any:
        """Let it do something."""
        assert self._process.stdin is not None
        print(json.dumps(words), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    async def opened(self, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
        """Send a request; return its connection, and the head of the answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nCookie: {self.cookie}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode())
        return reader, writer, (await reader.readuntil(b"\r\n\r\n")).decode()

    async def get(self, path: str) -> tuple[Spent, bytes]:
        """Return the seconds until the first byte, and the whole answer."""
        start = Spent.now()
        reader, writer, head = await self.opened(path)
        spent = Spent.now().since(start)
        body = await reader.read()
        writer.close()
        if not head.startswith("HTTP/1.1 200"):
            raise SystemExit(f"{path} answered {head!r}")
        return spent, body

    async def enter(self) -> None:
        """Exchange the key for a cookie."""
        _, writer, head = await self.opened(f"/?key={self.key}")
        self.cookie = head.partition("set-cookie: ")[2].partition(";")[0]
        writer.close()


@contextmanager
def served(home: str) -> Iterator[Served]:
    """A studio over the world in a folder."""
    words = [sys.executable, str(HERE / "studio_serving.py"), home]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, env=ENVIRONMENT, **pipes) as process:
        try:
            studio = Served(process)
            asyncio.run(studio.enter())
            yield studio
        finally:
            process.terminate()


async def watched(studio: Served, watchers: int, kind: tuple[int, int, float]) -> Spent:
    """Execute a run with so many watchers, each of which sees it to its end."""
    run = studio.ask("begin", *kind)
    path = f"/runs/{run}/events?after=0"
    opened = await asyncio.gather(*(studio.opened(path) for _ in range(watchers)))
    for reader, _, _ in opened:  # it has seen what is recorded so far
        await reader.readuntil(b"event: turn_started")
    reading = [asyncio.create_task(seen_by(studio, run, reader)) for reader, _, _ in opened]
    spent = Spent(*await asyncio.to_thread(studio.ask, "go"))
    seen = await asyncio.gather(*reading)
    for _, writer, _ in opened:
        writer.close()
    lacking = [body for body in seen if b"event: run_ended" not in body]
    if lacking or len({body.count(b"event: call_finished") for body in seen}) > 1:
        raise SystemExit(f"{len(lacking)} of {watchers} watchers did not see the whole run")
    return spent


async def seen_by(studio: Served, run: str, stream: asyncio.StreamReader) -> bytes:
    """Read a stream to its end, and after its records the page's body as often as a page may."""
    seen, loop = b"", asyncio.get_running_loop()
    spacing = 0.3
    fetched = loop.time()  # the page came with one
    while piece := await stream.read(65_536):
        seen += piece
        wait = fetched + spacing + random.random() * (spacing - 0.3) - loop.time()
        if b"\nid: " in piece and wait <= 0:
            fetched = loop.time()
            heard = int(seen.rpartition(b"\nid: ")[2].split(b"\n")[0].split(b".")[0])
            head = await body_of(studio, run, heard)
            spacing = int(head.lower().partition("body-spacing: ")[2].split()[0]) / 1000
    return seen


async def body_of(studio: Served, run: str, seq: int) -> str:
    """Load the body of a run's page after a record; return the head of the answer."""
    reader, writer, head = await studio.opened(f"/runs/{run}/body?seq={seq}")
    await reader.read()
    writer.close()
    return head


def watching_by(studio: Served, watchers: int, kind: tuple[int, int, float]) -> Contestant:
    return lambda: asyncio.run(watched(studio, watchers, kind))


def first_byte(studio: Served, path: str) -> Contestant:
    return lambda: asyncio.run(studio.get(path))[0]


def watching(studio: Served, watchers: int, rounds: int, turns: int) -> Iterator[Row]:
    paced, busy = (turns, *PACED), (25 * turns, *BUSY)
    for name, kind in (("a run that streams", paced), ("a busy run", busy)):
        figures = by_turns(
            {
                "unwatched": watching_by(studio, 0, kind),
                "watched": watching_by(studio, watchers, kind),
            },
            rounds,
        )
        what = f"{name}, {watchers} watchers / none"
        goal = "≤ 1.05" if kind is paced else ""
        yield row(what, figures, "watched", "unwatched", goal=goal)
        yield row(what, figures, "watched", "unwatched", clock="cpu")


def page(studio: Served, rounds: int, browser: int = 1) -> Iterator[Row]:
    run = studio.ask("made")
    figures = by_turns(
        {
            "page": first_byte(studio, f"/runs/{run}"),
            "report": first_byte(studio, f"/runs/{run}/report"),
        },
        rounds,
    )
    yield row("first byte of a run of 12 charts and 8 tables", figures, "page")
    yield row("first byte of its report", figures, "report")
    if not browser:
        return
    program = browser_program()
    if program is None or not installed("playwright"):
        print("no browser is here: nothing is rendered", file=sys.stderr)
        return
    yield from rendered(studio, run, program, rounds)


def rendered(studio: Served, run: str, program: str, rounds: int) -> Iterator[Row]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=program, args=["--no-sandbox"])
        address = f"http://127.0.0.1:{studio.port}"
        shown = browser.new_page()
        shown.goto(f"{address}/?key={studio.key}")

        def render() -> Spent:
            start = time.perf_counter()
            shown.goto(f"{address}/runs/{run}", wait_until="load")
            shown.locator("iframe").content_frame.locator("table").last.wait_for()
            shown.evaluate("new Promise(done => requestAnimationFrame(() => done(1)))")
            return Spent(time.perf_counter() - start, 0.0)

        figures = by_turns({"render": render}, rounds)
        browser.close()
    yield row("its full render in Chromium, with its report", figures, "render")


def lists(runs: int, rounds: int) -> Iterator[Row]:
    home = str(kept_world(runs))
    asyncio.run(indexed(home))
    figures: Figures = asyncio.run(in_library(home, rounds))
    for name in LIBRARY:
        yield row(f"{name} among {runs:,} runs", figures, name, goal="< 100")
    with served(home) as studio:
        paths = {
            "the studio's page of runs": "/runs?status=completed",
            "the studio's search": "/search?q=one+after",
            "the API's list of runs": "/api/v1/runs?text=one+after&model=scripted",
            "the inbox": "/inbox",
        }
        works = {name: first_byte(studio, path) for name, path in paths.items()}
        figures = by_turns(works, rounds)
    for name in paths:
        yield row(f"{name} among {runs:,} runs", figures, name, goal="< 100")


LIBRARY: dict[str, dict[str, Any]] = {
    "a list by status": {"status": "completed"},
    "a list by a model of none": {"model": "nobody"},
    "a list by words": {"text": "one after"},
    "a list of what waits": {"waiting": True},
}


async def indexed(home: str) -> None:
    """Let lists and searches read what they need, once."""
    async with opened(home) as world:
        await world.archive.index_runs()
        await world.archive.search("one after", 50)


async def in_library(home: str, rounds: int) -> Figures:
    figures: Figures = {name: [] for name in LIBRARY}
    async with opened(home) as world:
        for number in range(rounds + 1):
            for name, wanted in LIBRARY.items():
                spent = await spent_by(world.archive.list_runs(50, **wanted))
                if number:
                    figures[name].append(spent)
    return figures


def rows(
    watchers: int = 200, rounds: int = 5, runs: int = 100_000, turns: int = 4, browser: int = 1
) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as home, served(home) as studio:
        yield from page(studio, rounds, browser)
        yield from watching(studio, watchers, rounds, turns)
    yield from lists(runs, rounds)


if __name__ == "__main__":
    main(rows)
