"""Both purses behave as the port says, and processes spend from one together."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from artificer.journal import MemoryJournal, SqliteJournal
from artificer.journal.purse import MemoryPurse, SqlitePurse
from artificer.testing.purse_suite import PurseSuite

pytestmark = pytest.mark.req("budget-purse")

SPENDER = Path(__file__).parent / "spender.py"


class TestMemoryPurse(PurseSuite):
    @pytest.fixture
    def purse(self) -> MemoryPurse:
        return MemoryJournal().purse


class TestSqlitePurse(PurseSuite):
    @pytest.fixture
    async def purse(self, tmp_path: Path) -> AsyncIterator[SqlitePurse]:
        async with SqliteJournal(tmp_path / "journal.db", "process") as journal:
            yield journal.purse
            assert await journal.audit() == [], "it is no part of what is proven"


async def test_several_processes_never_spend_more_than_there_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with SqliteJournal(path, "process"):
        pass
    command = [sys.executable, str(SPENDER), str(path), "25", "400"]
    spenders = [await asyncio.create_subprocess_exec(*command, stdout=PIPE) for _ in range(3)]
    granted = [int((await spender.communicate())[0]) for spender in spenders]
    assert sum(granted) == 40
    async with SqliteJournal(path, "process") as journal:
        spent = await journal.purse.spent("day", 0)
    assert spent.settled.tokens + spent.reserved.tokens == 400


async def test_what_was_spent_is_there_after_the_process(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    command = [sys.executable, str(SPENDER), str(path), "4", "100"]
    spender = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    assert (await spender.communicate())[0] == b"4\n"
    async with SqliteJournal(path, "process") as journal:
        spent = await journal.purse.spent("day", 0)
    assert (spent.settled.tokens, spent.reserved.tokens) == (20, 20)
