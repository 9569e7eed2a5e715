"""A login to a vault with AppRole: its token is renewed, and replaced where that is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from vault_twin import VaultTwin, vault_twin

from artificer.errors import OperatorError
from artificer.secrets.vault import VaultSecret

pytestmark = pytest.mark.req("secret-vault-login")

LOGIN, RENEW, READ = (
    "/v1/auth/approle/login",
    "/v1/auth/token/renew-self",
    "/v1/secret/data/team/artificer",
)


@pytest.fixture
def twin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[VaultTwin]:
    with vault_twin() as twin:
        twin.secrets = {"tracker": "tr-51Hq8Zr7Tn3V"}
        file = tmp_path / "secret-id"
        file.write_text(f"{twin.role[1]}\n")
        for name in ("VAULT_TOKEN", "BAO_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("VAULT_ROLE_ID", twin.role[0])
        monkeypatch.setenv("VAULT_SECRET_ID_FILE", str(file))
        yield twin


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def source(twin: VaultTwin, clock: Clock) -> VaultSecret:
    return VaultSecret(twin.url, "secret", "team/artificer", timeout=20.0, now=clock)


def asked(twin: VaultTwin) -> list[str]:
    paths = [path for path, _ in twin.seen]
    twin.seen.clear()
    return paths


def test_one_login_serves_many_requests_and_its_token_is_renewed(
    twin: VaultTwin, source: VaultSecret, clock: Clock
) -> None:
    assert source.resolve("tracker") == "tr-51Hq8Zr7Tn3V"
    assert asked(twin) == [LOGIN, READ]
    for clock.now, paths in ((100, [READ]), (201, [RENEW, READ]), (390, [READ])):
        assert source.resolve("tracker") == "tr-51Hq8Zr7Tn3V"
        assert asked(twin) == paths
    secret = source.at_hand()
    assert secret["token of the vault"] == "hvs.login-1"
    assert secret["secret id of the vault"] == twin.role[1]


def test_a_token_that_ends_or_may_not_be_renewed_is_replaced(
    twin: VaultTwin, source: VaultSecret, clock: Clock
) -> None:
    source.resolve("tracker")
    clock.now = 1000  # the process stood still for longer than the token lived
    source.resolve("tracker")
    assert asked(twin) == [LOGIN, READ, LOGIN, READ]
    twin.renewable = False
    clock.now = 1250
    source.resolve("tracker")
    assert asked(twin) == [RENEW, READ]
    clock.now = 1500
    source.resolve("tracker")
    assert asked(twin) == [LOGIN, READ]


def test_a_token_near_the_end_of_its_longest_life_is_replaced(
    twin: VaultTwin, source: VaultSecret, clock: Clock
) -> None:
    source.resolve("tracker")
    twin.life, clock.now = 20, 250
    source.resolve("tracker")
    assert asked(twin) == [LOGIN, READ, RENEW, LOGIN, READ]


def test_a_token_that_was_revoked_is_replaced_once(
    twin: VaultTwin, source: VaultSecret, clock: Clock
) -> None:
    source.resolve("tracker")
    twin.token, clock.now = "hvs.revoked", 50
    assert source.resolve("tracker") == "tr-51Hq8Zr7Tn3V"
    assert asked(twin) == [LOGIN, READ, READ, LOGIN, READ]


def test_a_refused_login_is_said_without_what_was_sent(
    twin: VaultTwin, source: VaultSecret
) -> None:
    twin.role = (twin.role[0], "another-secret-id")
    with pytest.raises(OperatorError, match=r"login with AppRole was refused \(400\)") as caught:
        source.resolve("tracker")
    assert "secret-id-of-tests" not in str(caught.value) + str(caught.value.hint)


def test_without_a_secret_id_nobody_is_asked(
    twin: VaultTwin, source: VaultSecret, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VAULT_SECRET_ID_FILE")
    with pytest.raises(OperatorError, match="no secret id"):
        source.resolve("tracker")
    assert asked(twin) == []


def test_a_token_in_the_environment_comes_first(
    twin: VaultTwin, source: VaultSecret, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", twin.token)
    assert source.resolve("tracker") == "tr-51Hq8Zr7Tn3V"
    assert asked(twin) == [READ]
