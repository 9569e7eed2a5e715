"""The plug-in passes the conformance suites of its five parts: ``pytest -o asyncio_mode=auto``."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from artificer_plugin.executor import SqliteExecutor
from artificer_plugin.provider import Relay
from artificer_plugin.secrets import SECRETS
from artificer_plugin.spec import SqliteSection
from artificer_plugin.storage import STORAGE

from artificer.extend import load_folder
from artificer.ports import Executor, Provider, SecretSource, Storage, StorageKind, StoragePlace
from artificer.testing.executor_suite import CallOf, ExecutorSuite
from artificer.testing.provider_suite import ProviderSuite
from artificer.testing.secrets_suite import SecretSourceSuite
from artificer.testing.section_suite import SectionSuite
from artificer.testing.storage_kind_suite import StorageKindSuite
from artificer.testing.storage_suite import StorageSuite

TOOLS = Path(__file__).parents[1] / "tools"


class TestRelay(ProviderSuite):
    @pytest.fixture
    def provider(self) -> Provider:
        return Relay()

    @pytest.fixture
    def unreachable(self) -> Provider:
        return Relay(only="a tool that no run has")


class TestSqliteSection(SectionSuite):
    @pytest.fixture
    def section(self) -> SqliteSection:
        return SqliteSection()

    @pytest.fixture
    def manifests(self) -> Mapping[str, str]:
        return {file.name: file.read_text() for file in TOOLS.glob("*.clad.toml")}


class TestSqliteExecutor(ExecutorSuite):
    @pytest.fixture
    def executor(self, tmp_path: Path) -> Executor:
        with closing(sqlite3.connect(tmp_path / "people.db")) as database:
            database.execute("CREATE TABLE people (name TEXT, born INTEGER)")
        tools = tmp_path / "tools"
        shutil.copytree(TOOLS, tools)
        text = (tools / "people.clad.toml").read_text()
        broken = text.replace('"people"', '"broken"').replace("FROM people", "FROM nowhere")
        (tools / "broken.clad.toml").write_text(broken)
        return SqliteExecutor([file.manifest for file in load_folder(tools)], tmp_path, 100)

    @pytest.fixture
    def working(self) -> CallOf:
        return "people", {"born_before": 1900}

    @pytest.fixture
    def failing(self) -> CallOf:
        return "broken", {"born_before": 1900}


class TestDotEnv(SecretSourceSuite):
    @pytest.fixture
    def held(self) -> Mapping[str, str]:
        return {"tracker": "tr-51Hq8Zr7", "signing": "two\nlines"}

    @pytest.fixture
    def source(self, tmp_path: Path) -> SecretSource:
        (tmp_path / ".env").write_text('# ours\nTRACKER=tr-51Hq8Zr7\n\nsigning="two\\nlines"\n')
        return SECRETS.open(f"dotenv:{tmp_path}/.env")


class TestElsewhere(StorageSuite):
    @pytest.fixture
    async def storage(self, tmp_path: Path) -> AsyncIterator[Storage]:
        url = f"elsewhere://{tmp_path}/worlds"
        storage = await STORAGE.open(StoragePlace(tmp_path / "home" / "own", url))
        assert storage is not None
        yield storage
        await storage.aclose()


class TestElsewhereLasts(StorageKindSuite):
    @pytest.fixture
    def kind(self) -> StorageKind:
        return STORAGE

    @pytest.fixture
    def place(self, tmp_path: Path) -> StoragePlace:
        url = f"elsewhere://{tmp_path}/worlds"
        return StoragePlace(tmp_path / "home" / "own", url, durability="process")
