"""A headless Chromium, driven over its own protocol through two pipes: no server, no library."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from artificer.backends.browser.window import browser_program

CHROMIUM = browser_program()

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run"
    " --disable-background-networking --disable-component-update --disable-sync"
    " --disable-dev-shm-usage --window-size=1100,900"
)


class Chromium:
    """A running browser. Its pages know nothing of one another."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._buffer = b""
        self._number = 0
        self.events: dict[str, list[dict[str, Any]]] = {}
        """What each page reported so far, by its session."""

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """Send one command, to a page or to the browser, and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def receive(self) -> dict[str, Any]:
        """Wait for a message, and keep it if it is an event."""
        while b"\0" not in self._buffer:
            piece = os.read(self._answers, 1 << 16)
            assert piece, "the browser ended"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        parsed: dict[str, Any] = json.loads(message)
        if "id" not in parsed:
            self.events.setdefault(parsed.get("sessionId", ""), []).append(parsed)
        return parsed

    @contextmanager
    def page(self) -> Iterator[Page]:
        """Open a page with a cache and a storage of its own."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        made = self.call("Target.createTarget", url="about:blank", browserContextId=context)
        attached = self.call("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        yield Page(self, attached["sessionId"])
        self.call("Target.disposeBrowserContext", browserContextId=context)


class Page:
    """A page of a running browser; ``events`` are what it reported so far."""

    def __init__(self, chromium: Chromium, session: str) -> None:
        self._chromium, self._session = chromium, session
        self.events = chromium.events.setdefault(session, [])
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and return its result."""
        return self._chromium.call(method, self._session, **params)

    def open(self, path: Path) -> None:
        """Load a file and wait for it."""
        self.call("Page.navigate", url=path.as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self._chromium.receive()

    def value(self, expression: str) -> Any:
        """Evaluate an expression in the page, from outside its policy."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def emulate(self, media: str = "", **features: str) -> None:
        """Show the page as another medium, or to someone with other preferences."""
        wanted = [{"name": k.replace("_", "-"), "value": v} for k, v in features.items()]
        self.call("Emulation.setEmulatedMedia", media=media, features=wanted)

    def reported(self, *methods: str) -> list[dict[str, Any]]:
        """The parameters of the events with these names."""
        return [e["params"] for e in self.events if e.get("method") in methods]


@contextmanager
def started(profile: Path) -> Iterator[Chromium]:
    """Start a browser with an empty profile, and end it and its children afterwards."""
    assert CHROMIUM
    (read_commands, commands), (answers, write_answers) = os.pipe(), os.pipe()
    script = (
        f"exec {CHROMIUM} {FLAGS} --user-data-dir={profile} --remote-debugging-pipe"
        f" 3<&{read_commands} 4>&{write_answers}"
    )
    process = subprocess.Popen(
        ["bash", "-c", script],
        pass_fds=(read_commands, write_answers),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(read_commands)
    os.close(write_answers)
    try:
        chromium = Chromium(commands, answers)
        yield chromium
        chromium.call("Browser.close")
    finally:
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(commands)
        os.close(answers)
