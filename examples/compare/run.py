"""Runs sixteen programs in Artificer and in Pydantic AI, and compares output and length.

    python examples/compare/run.py [--only 01,02]

Both libraries call one local Chat Completions server over HTTP, which is as strict as
OpenAI's. A line of code is one that is neither blank nor a comment, a docstring or an import.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import os
import re
import sys
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "servers")]

from model import ANSWERS  # noqa: E402
from strict_server import StrictServer  # noqa: E402

Library = Literal["artificer", "pydantic_ai"]

CELLS = """
import ast, asyncio, inspect, sys
code = compile(open(sys.argv[1]).read(), sys.argv[1], "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
async def main():
    await eval(code, {"__name__": "__main__"})
asyncio.run(main())
"""
"""Runs the cells of a notebook in an event loop, as a kernel does."""

SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


@dataclass(frozen=True)
class Ran:
    """The output of a program, its exit status, and the lines of code."""

    output: str
    status: int
    lines: int


def program(name: str, library: Library) -> Path:
    """Return the file of a program."""
    return HERE / f"{name}_{library}.py"


def lines_of_code(path: Path) -> int:
    """Count the lines that are neither blank nor a comment, a docstring or an import."""
    code = path.read_text(encoding="utf-8")
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(code)):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if text or isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    counted: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in SKIPPED and token.type != tokenize.ENCODING and token.string:
                counted.update(range(token.start[0], token.end[0] + 1))
    return len(counted - left_out)


async def run(name: str, library: Library) -> Ran:
    """Run a program against its own server, in an empty folder."""
    path = program(name, library)
    words = [str(path)]
    if name == "10_notebook":
        words = ["-c", CELLS, str(path)]
    elif name == "11_pytest":
        words = ["-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", str(path)]
    with tempfile.TemporaryDirectory() as folder:
        async with StrictServer(answer=ANSWERS[name]()) as server:
            environment = {
                **os.environ,
                "OPENAI_BASE_URL": server.url,
                "OPENAI_API_KEY": "test",
                "ARTIFICER_HOME": str(Path(folder) / "home"),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            }
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, *words),
                cwd=folder,
                env=environment,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            output, _ = await asyncio.wait_for(process.communicate(), 120)
            refused = "".join(f"The server refused: {reason}\n" for reason in server.refused)
    text = re.sub(r" in [\d.]+s", "", output.decode()) + refused  # pytest's seconds
    return Ran(text, process.returncode or 0, lines_of_code(path))


async def compare(names: list[str]) -> int:
    """Print the table; return how many programs are longer than their peers or differ."""
    failures: list[str] = []
    print("| program | Artificer | Pydantic AI | same output |")
    print("| --- | --: | --: | --- |")
    for name in names:
        ours, theirs = await run(name, "artificer"), await run(name, "pydantic_ai")
        same = ours.output == theirs.output and ours.status == theirs.status == 0
        print(f"| {name} | {ours.lines} | {theirs.lines} | {'yes' if same else 'no'} |", flush=True)
        if ours.lines > theirs.lines:
            failures.append(f"{name}: {ours.lines} lines, and {theirs.lines} of Pydantic AI")
        if not same:
            failures.append(f"{name}:\n{ours.output}\n--- Pydantic AI:\n{theirs.output}")
    for failure in failures:
        print(failure, file=sys.stderr)
    return len(failures)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="NUMBERS")
    only = tuple(filter(None, parser.parse_args().only.split(",")))
    names = [name for name in ANSWERS if not only or name.startswith(only)]
    sys.exit(bool(asyncio.run(compare(names))))


if __name__ == "__main__":
    main()
