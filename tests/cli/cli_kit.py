"""Running commands in tests: in this process, or as real processes, in a folder of their own."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import pty
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import preloaded
from artificer.cli.main import perform

PATIENCE_S = 60
"""How long a process may take on a busy machine before a test fails."""

KEPT = (
    *("PATH", "PYTHONPATH", "VIRTUAL_ENV", "HOME", "TMPDIR", "LANG", "LC_ALL"),
    "COVERAGE_PROCESS_START",
)
"""Variables that commands inherit. With another path they might test another Artificer."""


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """A working directory and a home of one test."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.cwd = folder / "work"
        self.cwd.mkdir()

    @property
    def world(self) -> Path:
        (folder,) = (path for path in self.home.iterdir() if (path / "journal.db").exists())
        return folder

    def configure(self, url: str, extra: str = "") -> None:
        """Make the double at ``url`` the model."""
        text = f'model = "double/m"\n{extra}\n[providers.double]\nbase_url = "{url}"\n'
        (self.cwd / "artificer.toml").write_text(text, encoding="utf-8")

    async def run(
        self, *words: str, stdin: bytes = b"", env: dict[str, str] | None = None
    ) -> Result:
        """Run ``artificer`` with these words in this process, in a thread of its own.

        Neither stdin nor the outputs are a terminal or have a file descriptor.
        """
        surroundings = Surroundings(self.cwd, self.environment(env or {}), stdin)
        return await asyncio.to_thread(surroundings.perform, list(words))

    async def run_process(
        self, *words: str, stdin: bytes | None = None, env: dict[str, str] | None = None
    ) -> Result:
        """Run ``artificer`` with these words as a process of its own."""
        streams = {} if stdin is None else {"stdin": asyncio.subprocess.PIPE}
        return await finish(await self.start(*words, env=env, **streams), stdin)

    async def start(
        self, *words: str, env: dict[str, str] | None = None, **streams: Any
    ) -> asyncio.subprocess.Process:
        """Start ``artificer`` with these words as a process of its own."""
        return await preloaded.start(
            "-m",
            "artificer",
            *words,
            cwd=self.cwd,
            env=self.environment(env or {}),
            **{"stdin": asyncio.subprocess.DEVNULL, **_PIPES, **streams},
        )

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        """Return an environment without the keys, proxies and settings of this machine's user."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return {**kept, "ARTIFICER_HOME": str(self.home), "ARTIFICER_PROJECT": "test", **more}


class Surroundings:
    """The folder, environment and streams of a command that runs in this process."""

    def __init__(self, cwd: Path, environment: dict[str, str], stdin: bytes) -> None:
        self._cwd = cwd
        self._environment = environment
        self._stdin = stdin

    def perform(self, words: list[str]) -> Result:
        """Run a command. Commands share the process, so they take turns."""
        with _TURN, self._entered() as (out, err):
            code = perform(words)
            sys.stdout.flush()
            return Result(code, out.getvalue().decode(), err.getvalue().decode())

    @contextmanager
    def _entered(self) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
        """Replace what a process inherits, and restore it afterwards."""
        cwd, environment = Path.cwd(), dict(os.environ)
        streams = sys.stdin, sys.stdout, sys.stderr
        logger = logging.getLogger("artificer")
        handlers, level = list(logger.handlers), logger.level
        out, err = io.BytesIO(), io.BytesIO()
        try:
            os.chdir(self._cwd)
            _replace_environment(self._environment)
            sys.stdin = io.TextIOWrapper(io.BytesIO(self._stdin), encoding="utf-8")
            sys.stdout = io.TextIOWrapper(out, encoding="utf-8", errors="backslashreplace")
            sys.stderr = io.TextIOWrapper(
                err, encoding="utf-8", errors="backslashreplace", write_through=True
            )
            yield out, err
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
            logger.handlers[:] = handlers
            logger.setLevel(level)
            _replace_environment(environment)
            os.chdir(cwd)


_TURN = threading.Lock()


def _replace_environment(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


_PIPES = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}


async def finish(process: asyncio.subprocess.Process, stdin: bytes | None = None) -> Result:
    """Wait for a process to end; it is killed when it does not."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            out, err = await process.communicate(stdin)
    except TimeoutError:
        process.send_signal(signal.SIGKILL)
        raise
    return Result(process.returncode or 0, (out or b"").decode(), (err or b"").decode())


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    for _ in range(PATIENCE_S * 50):
        if holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came to hold")


def text_of(path: str | Path) -> str:
    """Read a file that a process has written."""
    return Path(path).read_text(encoding="utf-8")


class Terminal:
    """The other side of a pseudo-terminal: what a person at a terminal sees and types."""

    def __init__(self) -> None:
        self._master, self.slave = pty.openpty()
        self.seen = ""
        self._changed = asyncio.Event()
        os.set_blocking(self._master, False)
        asyncio.get_running_loop().add_reader(self._master, self._read)

    def _read(self) -> None:
        try:
            self.seen += os.read(self._master, 65536).decode("utf-8", "replace")
        except OSError:
            asyncio.get_running_loop().remove_reader(self._master)
        self._changed.set()

    def type(self, text: str) -> None:
        """Type on the keyboard; ``\\x03`` is Ctrl-C."""
        os.write(self._master, text.encode())

    async def until(self, pattern: str) -> None:
        """Wait until something matches on the screen."""
        async with asyncio.timeout(PATIENCE_S):
            while not re.search(pattern, self.seen):
                self._changed.clear()
                await self._changed.wait()

    def close(self) -> None:
        """Hang up."""
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)
        os.close(self.slave)


async def lines_until(stream: asyncio.StreamReader | None, word: str) -> str:
    """Read lines until one holds the word; return it."""
    assert stream is not None
    async with asyncio.timeout(PATIENCE_S):
        while line := (await stream.readline()).decode():
            if word in line:
                return line
    raise AssertionError(f"the stream ended without {word!r}")
