"""Both journals behave as the port says."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from artificer.ports import Durability
from artificer.storage.memory import MemoryJournal
from artificer.storage.sqlite import SqliteJournal
from artificer.testing.journal_suite import JournalSuite

pytestmark = pytest.mark.req("journal-port", "journal-fence", "journal-all-or-nothing")


class TestMemoryJournal(JournalSuite):
    @pytest.fixture
    def journal(self) -> MemoryJournal:
        return MemoryJournal()


class TestSqliteJournal(JournalSuite):
    @pytest.fixture(params=["power", "process"])
    async def journal(
        self, tmp_path: Path, request: pytest.FixtureRequest
    ) -> AsyncIterator[SqliteJournal]:
        durability: Durability = request.param
        async with SqliteJournal(tmp_path / "journal.db", durability) as journal:
            yield journal
            assert await journal.audit() == []
