"""Run the blocks of a page in order: ``python run_page.py PAGE``, in an empty folder.

The blocks of a page share a folder and, as in a notebook, a namespace in which ``await`` works. A
coroutine function ``main`` that a block defines and does not run is run after it. A block with a
title is written to that file; ``base_url`` in it leads to the local server. Both model APIs are
local servers that play the replies which the page names. The folder has a picture and a PDF.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))
sys.path.insert(0, str(Path(__file__).parents[1]))

import forked_commands
from blocks import ROOT, Block, blocks
from strict_server import Calls, Says, StrictServer, Turn

from artificer.providers.profiles import profiles
from pictures import PDF, png

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
URLS = ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL")
INSTALLERS = ("pip", "uv", "ollama", "vllm", "lms")
"""Programs that examples name to get something; here they do nothing."""


class Model:
    """The models behind both APIs: they play the replies of a block, then say "Done."."""

    def __init__(self) -> None:
        self.replies: list[Turn] = []
        self.url = ""
        started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(started)), daemon=True).start()
        started.wait()

    async def _serve(self, started: threading.Event) -> None:
        async with StrictServer(answer=self._answer) as server:
            self.url = server.url
            started.set()
            await asyncio.Event().wait()

    def _answer(self, _: dict[str, Any]) -> Turn:
        return self.replies.pop(0) if self.replies else Says("Done.")

    def play(self, text: str) -> None:
        """Read the replies of a comment: ``call("add", a=1), say("3")``."""
        names = {"call": _call, "calls": Calls, "say": Says, "pair": _pair}
        self.replies = list(eval(f"({text},)", names)) if text else []


def _pair(tool: str, **arguments: object) -> tuple[str, str]:
    return tool, json.dumps(arguments)


def _call(tool: str, **arguments: object) -> Turn:
    return Calls(_pair(tool, **arguments))


def run_page(page: Path) -> None:
    """Run the blocks of a page. Raises what they raise, at their lines."""
    model = Model()
    os.environ |= dict.fromkeys(KEYS, "test") | dict.fromkeys(URLS, model.url)
    Path("examples").symlink_to(ROOT / "examples")
    Path("cat.png").write_bytes(png())
    Path("paper.pdf").write_bytes(PDF)
    _stub(INSTALLERS)
    servers = (f'[providers.{name}]\nbase_url = "{model.url}"\n' for name in profiles())
    Path("artificer.toml").write_text("".join(servers), encoding="utf-8")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, str(Path.cwd()))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.title is not None:
            _write(block, model)
        if "not run" in block.notes or block.language not in ("python", "sh"):
            continue
        model.play(block.notes.get("replies", ""))
        if block.language == "sh":
            _run_shell(block)
        elif block.title is None or block.title.endswith(".py"):
            _run_python(block, namespace)
        if model.replies:
            raise SystemExit(f"{block.place}: {len(model.replies)} replies were not used")


def _stub(programs: tuple[str, ...]) -> None:
    folder = Path("..", "bin").resolve()
    folder.mkdir()
    for name in programs:
        (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    forked_commands.install(folder)
    python = Path(sys.executable).parent
    os.environ["PATH"] = f"{folder}:{python}:{os.environ['PATH']}"


def _write(block: Block, model: Model) -> None:
    assert block.title is not None
    path = Path(block.title)
    path.parent.mkdir(parents=True, exist_ok=True)
    source = re.sub(r'base_url = ".*?"', f'base_url = "{model.url}"', block.source)
    path.write_text(source, encoding="utf-8")
    for name in re.findall(r'_env = "(\w+)"', source):
        os.environ[name] = "test"


def _run_shell(block: Block) -> None:
    commands = block.notes.get("before", "") + "\n" + block.source
    if not re.search(r"^(artificer|pytest) ", commands, re.MULTILINE):
        return  # it installs, or is about this repository
    commands = commands.replace("=…", "=test")
    done = subprocess.run(["bash", "-euc", commands], stdin=subprocess.DEVNULL, check=False)
    expected = int(block.notes.get("exit", 0))
    if done.returncode != expected:
        raise SystemExit(f"{block.place}: exit status {done.returncode}, not {expected}")


def _run_python(block: Block, namespace: dict[str, Any]) -> None:
    filename, before = str(block.page), namespace.get("main")
    source = "\n" * (block.line - 1) + block.source
    code = compile(source, filename, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(code, namespace))
    else:
        exec(code, namespace)
    main = namespace.get("main")
    if main is not before and inspect.iscoroutinefunction(main) and "run(main())" not in source:
        asyncio.run(main())


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
