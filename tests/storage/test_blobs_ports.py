"""All blob stores behave as the port says."""

from pathlib import Path

import pytest

from artificer.storage.blobs import DiskStore, MemoryStore
from artificer.storage.blobs.joined import JoinedStore
from artificer.storage.memory import MemoryJournal
from artificer.testing.blob_suite import BlobSuite

pytestmark = pytest.mark.req("blob-port")


class TestMemoryStore(BlobSuite):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


class TestJoinedStore(BlobSuite):
    @pytest.fixture
    def store(self, tmp_path: Path) -> JoinedStore:
        return JoinedStore(MemoryJournal().small, DiskStore(tmp_path / "blobs", "process"))


class TestDiskStore(BlobSuite):
    @pytest.fixture(params=["power", "process"])
    def store(self, tmp_path: Path, request: pytest.FixtureRequest) -> DiskStore:
        return DiskStore(tmp_path / "blobs", request.param)
