"""What the tests of the command line share: real processes and a folder of their own."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import preloaded

PATIENCE_S = 60
"""How long a process may take on a busy machine before a test fails."""

KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "COVERAGE_PROCESS_START")


@dataclass(frozen=True)
class Result:
    """How a process ended."""

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

    async def start(
        self, *words: str, env: dict[str, str] | None = None, **streams: Any
    ) -> asyncio.subprocess.Process:
        """Start ``artificer`` with these words."""
        return await preloaded.start(
            "-m",
            "artificer",
            *words,
            cwd=self.cwd,
            env=self.environment(env or {}),
            **{"stdin": asyncio.subprocess.DEVNULL, **_PIPES, **streams},
        )

    async def run(
        self, *words: str, stdin: bytes | None = None, env: dict[str, str] | None = None
    ) -> Result:
        """Run ``artificer`` with these words to its end."""
        streams = {} if stdin is None else {"stdin": asyncio.subprocess.PIPE}
        return await finish(await self.start(*words, env=env, **streams), stdin)

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        """No key, no proxy, no setting of whoever runs the tests."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return {**kept, "ARTIFICER_HOME": str(self.home), "ARTIFICER_PROJECT": "test", **more}


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
