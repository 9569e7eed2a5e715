"""An interpreter without assertions (``-O``) and without docstrings (``-OO``)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RUN = '''
import asyncio
from artificer import Agent, Config, World, tool
from artificer.errors import ToolDefinitionError
from artificer.testing import ScriptedProvider, call, reply, say

def undescribed(city: str) -> int:
    """Return a number."""
    return 3

try:
    tool(effect="pure")(undescribed)
except ToolDefinitionError as error:
    print(error.hint)

@tool(effect="pure", description="Return a number.")
def described(city: str) -> int:
    return 3

async def main():
    script = ScriptedProvider([reply(call("described", city="Rome")), say("Three.")])
    async with World.in_memory(Config(), providers=[script]) as world:
        run = await world.run("How many?", Agent("scripted/m", tools=[described]))
        print(run.status, run.text)

asyncio.run(main())
'''

PERMIT = """
import asyncio, sqlite3, sys
from contextlib import closing
from pathlib import Path
from artificer.ports import SharedLimit
from artificer.storage.sqlite.permits import SqlitePermits

async def main(folder):
    permits = SqlitePermits(folder)
    await permits.held()
    with closing(sqlite3.connect(folder / "permits.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        taking = asyncio.create_task(permits.take("a", [SharedLimit("one", 1)], 60))
        await asyncio.sleep(0)
        print(len([*folder.glob("owners/*.owner")]))
        other.execute("ROLLBACK")
    print(await taking)
    permits.close()

asyncio.run(main(Path(sys.argv[1])))
"""


def printed(option: str, script: str, folder: Path) -> list[str]:
    command = [sys.executable, option, "-c", script, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.req("optimized-python")
def test_a_tool_without_its_docstring_says_how_to_describe_it(tmp_path: Path) -> None:
    hint, run = printed("-OO", RUN, tmp_path)
    assert hint == "python -OO removes docstrings: pass @tool(description=…), or use -O."
    assert run == "completed Three."


@pytest.mark.req("optimized-python")
def test_a_process_is_an_owner_before_a_thread_takes_its_permit(tmp_path: Path) -> None:
    """Another process holds the file of the permits meanwhile, and the thread waits for it."""
    assert printed("-O", PERMIT, tmp_path) == ["1", "None"]
