"""The embedded model's server as a child process: starting, watching and stopping it."""

from __future__ import annotations

import asyncio
import json
import secrets
import select
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from artificer.errors import MissingExtraError, NotFoundError, OperatorError
from artificer.providers.local_server import ServerSettings

CONTEXT_TOKENS = 8_192
SLOTS = 1
"""Requests served at once. One thread serves them all, so more slots would only share it."""

START_SECONDS = 120
"""Longest time to load the model: usually 0.7 s, on an overloaded machine up to 35 s."""

STOP_SECONDS = 3
_TAIL_BYTES = 4_096


@dataclass(frozen=True)
class Address:
    """The address and the key of a running server."""

    host: str
    port: int
    key: str

    @property
    def url(self) -> str:
        """The base URL, without a path."""
        return f"http://{self.host}:{self.port}"


class LocalServer:
    """One server process for one model file, started when its address is first needed.

    An async context that ends the process. A process that died between two requests is replaced
    when the address is next needed.
    """

    def __init__(self, model: Path, *, context: int = CONTEXT_TOKENS, slots: int = SLOTS) -> None:
        self._model = model
        self._context = context
        self._slots = slots
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._address: Address | None = None

    async def __aenter__(self) -> LocalServer:
        await self.address()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def pid(self) -> int | None:
        """The process id of the running server, or None."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def require(self) -> None:
        """Check, without starting anything, that the server can start.

        Raises:
            MissingExtraError: xllamacpp is not installed.
            NotFoundError: the model file does not exist.
        """
        from importlib.util import find_spec

        if find_spec("xllamacpp") is None:
            raise MissingExtraError("local", needed_for="The embedded model")
        if not self._model.is_file():
            raise NotFoundError(
                f"No model found at {self._model}.",
                hint="Run `artificer local fetch`, or name a GGUF file with --local-model FILE.",
            )

    async def address(self) -> Address:
        """Return the address of the running server. It is started if necessary.

        Raises:
            OperatorError: it cannot start; the message ends with its last output.
        """
        return await asyncio.to_thread(self._ensure)

    async def stop(self) -> None:
        """End the process and wait for it. May be called more than once."""
        await asyncio.to_thread(self._stop)

    def _ensure(self) -> Address:
        with self._lock:
            if self._address is not None and self.pid is not None:
                return self._address
            self._end()
            self.require()
            self._address = self._start()
            return self._address

    def _start(self) -> Address:
        key = secrets.token_urlsafe(24)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by _end
        # Its own session: Ctrl-C in the terminal goes to this process, which ends the server.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "artificer.providers.local_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        settings = ServerSettings(str(self._model.resolve()), key, self._context, self._slots)
        line = self._hello(self._process, settings)
        try:
            parts = urlsplit(json.loads(line)["address"])
            return Address(parts.hostname or "", int(parts.port or 0), key)
        except (ValueError, KeyError, TypeError):
            words = self._last_words()
            self._end()
            raise OperatorError(
                f"The embedded model's server did not start: {words}",
                hint=f"Is {self._model} a GGUF file that llama.cpp reads, and is memory free?",
            ) from None

    def _hello(self, process: subprocess.Popen[bytes], settings: ServerSettings) -> bytes:
        """Send the settings and return the line with the address, or b"" if none comes in time."""
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(settings.to_line().encode())
            process.stdin.flush()
        except BrokenPipeError:
            return b""
        ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
        return process.stdout.readline(_TAIL_BYTES) if ready else b""

    def _last_words(self) -> str:
        """Return the last lines of the server's stderr."""
        if self._log is None:
            return "(nothing)"
        size = self._log.seek(0, 2)
        self._log.seek(max(0, size - _TAIL_BYTES))
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        last = [line.strip() for line in lines if line.strip()][-3:]
        return " | ".join(last) or f"no output within {START_SECONDS} seconds."

    def _stop(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> None:
        process, self._process, self._address = self._process, None, None
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if self._log is not None:
            self._log.close()
            self._log = None
