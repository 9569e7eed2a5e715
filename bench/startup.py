"""From start to exit: whole processes, as multiples of ``python -c pass``.

    python bench/startup.py [--rounds 5]

The commands are given a world that holds one run, and find the ``.pyc`` files of an earlier start.
Seconds on a processor are compared: a busy machine interrupts a long process more often than a
short one. Peers are measured when they are installed.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import Contestant, Row, by_turns, command, installed, main, row
from worlds import opened, run, script_of

FLOOR = "python -c pass"

PROGRAM = """
import artificer
from artificer.providers.scripted import ScriptedProvider, call, reply, say

@artificer.tool(effect="pure")
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

model = ScriptedProvider([reply(call("add", a=1, b=2)), say("Three.")])
run = artificer.run("Add 1 and 2.", model=model, tools=[add])
assert run.text == "Three."
"""

COMMANDS = {
    "run --help": "≤ 10",
    "runs": "≤ 15",
    "show last": "≤ 15",
    "replay last": "≤ 15",
    "--help": "",
}

PEERS = {
    "pydantic_ai": "from pydantic_ai import Agent",
    "langgraph": "from langgraph.graph import StateGraph",
}


async def a_run(home: Path) -> None:
    async with opened(home) as world:
        await run(world, script_of(3))


def contestants(home: Path) -> dict[str, Contestant]:
    settings = ("--home", str(home), "--project", "bench")
    file = home / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return {
        FLOOR: command("-c", "pass"),
        "program": command(str(file), cwd=home),
        "import artificer": command("-c", "import artificer"),
        **{
            words: command("-m", "artificer", *settings, *words.split(), cwd=home)
            for words in COMMANDS
        },
        **{words: command("-c", words) for module, words in PEERS.items() if installed(module)},
    }


def rows(rounds: int = 5) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        asyncio.run(a_run(home))
        figures = by_turns(contestants(home), rounds)
    program = "a program with one typed tool and one turn / bare Python"
    yield row(program, figures, "program", FLOOR, goal="≤ 20")
    yield row(program, figures, "program", FLOOR, clock="cpu", goal="≤ 20")
    for words, goal in COMMANDS.items():
        what = f"`artificer {words}` / bare Python"
        yield row(what, figures, words, FLOOR, clock="cpu", goal=goal)
    for words in ("import artificer", *PEERS.values()):
        if words in figures:
            yield row(f"`{words}` / bare Python", figures, words, FLOOR, clock="cpu")


if __name__ == "__main__":
    main(rows)
