"""Every source of secrets that is built in has the behaviour of the port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from vault_twin import TOKEN, vault_twin

from artificer.contracts.secret_references import PREFIXES
from artificer.ports import SecretSource
from artificer.secrets.environment import Variables
from artificer.secrets.files import FolderOfSecrets
from artificer.secrets.kinds import KINDS
from artificer.secrets.remembering import Remembering
from artificer.testing.secrets_suite import SecretSourceSuite

pytestmark = pytest.mark.req("secret-suite")

HELD = {"tracker_token": "tr-51Hq8Zr7Tn3V", "signing": "-----BEGIN-----\nMIIB\n-----END-----\n"}


@pytest.fixture
def held() -> Mapping[str, str]:
    """The secrets of a source."""
    return HELD


class TestVariables(SecretSourceSuite):
    @pytest.fixture
    def source(self) -> SecretSource:
        return Variables({PREFIXES[0] + n.upper(): v for n, v in HELD.items()}, PREFIXES)


class TestNamesOfVariables(SecretSourceSuite):
    @pytest.fixture
    def source(self) -> SecretSource:
        return Variables(HELD)


class TestFolder(SecretSourceSuite):
    @pytest.fixture
    def source(self, tmp_path: Path) -> SecretSource:
        for name, value in HELD.items():
            (tmp_path / name).write_text(value + "\n")  # a line end behind it does not count
        return FolderOfSecrets(tmp_path)


class TestVault(SecretSourceSuite):
    @pytest.fixture
    def source(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretSource]:
        monkeypatch.setenv("VAULT_TOKEN", TOKEN)
        with vault_twin() as twin:
            twin.secrets = dict(HELD)
            kind = KINDS.get("vault")
            assert kind is not None
            yield kind.open(f"vault:{twin.url}")


class TestRemembered(SecretSourceSuite):
    @pytest.fixture
    def source(self) -> SecretSource:
        return Remembering(Variables(HELD))
