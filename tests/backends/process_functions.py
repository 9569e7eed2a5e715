"""Functions for tools with a process of their own, which imports them from here."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tools_support import WRITER

from artificer.backends.function.decorator import tool
from artificer.ports import Call

seen: list[int] = []


@tool(isolation="process")
def look() -> dict[str, Any]:
    """Look."""
    seen.append(1)
    return {"pid": os.getpid(), "session": os.getsid(0), "stdin": os.read(0, 9), "seen": seen}


@tool(isolation="process")
def speak() -> str:
    """Speak."""
    os.write(1, b"noise")
    print("more noise", flush=True)
    return "result"


@tool(isolation="process")
def leave(code: int) -> None:
    """Leave at once."""
    os._exit(code)


@tool(isolation="process")
def die() -> None:
    """Die."""
    os.kill(os.getpid(), signal.SIGKILL)


@tool(isolation="process")
def fail() -> None:
    """Fail."""
    raise LookupError(" ".join(("nothing", "there")))


@tool(isolation="process")
def use_both() -> int:
    """Use asyncio and threads."""
    results: list[int] = []
    thread = threading.Thread(target=results.append, args=(1,))
    thread.start()
    thread.join()
    return asyncio.run(asyncio.sleep(0, 41)) + results[0]


@tool(isolation="process")
async def sleep_briefly(n: int) -> int:
    """Sleep."""
    await asyncio.sleep(0.01)
    return n + 1


@tool(isolation="process")
def leave_behind(path: str) -> str:
    """Leave a process behind that has left session, parent and environment."""
    subprocess.Popen([sys.executable, "-c", WRITER, path], env={}, start_new_session=True)
    while not Path(path).exists():
        time.sleep(0.01)
    return "left"


@tool(isolation="process", effect="once", timeout=20)
def pay_and_leave() -> str:
    """Pay, and leave a program running that has our descriptors as far as they are inherited."""
    os.system("sleep 60 >/dev/null 2>&1 &")
    return "paid"


@tool(isolation="process", timeout=1)
def hang(how: str, path: str) -> None:
    """Hang."""
    if how == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(path).write_text(str(os.getpid()))
    if how == "sleep":
        time.sleep(60)
    while True:
        pass


@tool(isolation="process")
def spread(path: str) -> None:
    """Fork twice, leave the session, ignore SIGTERM, and go on."""
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            while True:
                with Path(path).open("a") as file:
                    file.write("x")
                time.sleep(0.02)
        os._exit(0)
    time.sleep(60)


@tool(isolation="process")
def go_on(path: str) -> None:
    """Go on."""
    while True:
        with Path(path).open("a") as file:
            file.write("x")
        time.sleep(0.02)


@tool(isolation="process", effect="keyed")
def pay(amount: int, call: Call) -> str:
    """Pay."""
    return f"{call.key}:{amount}:{call.definition.name}:{call.arguments['amount']}"


@tool(isolation="process")
def token_of(call: Call) -> int:
    """Return the fencing token."""
    return call.fencing_token


def plain(n: int) -> int:
    """Double a number."""
    return 2 * n


doubled = tool(isolation="process", name="doubled")(plain)


@tool(isolation="process")
def modules() -> list[str]:
    """Return which of some modules the process has imported."""
    return sorted({"pytest", "asyncio", "pydantic", "jsonschema_rs"} & sys.modules.keys())


def rows() -> list[dict[str, float]]:
    """Return more rows than a model reads."""
    return [{"n": n, "share": n / 7} for n in range(5_000)]
