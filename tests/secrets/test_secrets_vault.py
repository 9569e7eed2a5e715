"""Secrets of a vault: what a server that is slow, down, hostile or forgetful can do."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from vault_twin import TOKEN, VaultTwin, vault_twin

from artificer.errors import ConfigError, OperatorError
from artificer.secrets.vault import VAULT, VaultSecret
from artificer.secrets.vault_server import MAX_ANSWER

pytestmark = pytest.mark.req("secret-vault")

VALUE = "tr-51Hq8Zr7Tn3V"


@pytest.fixture(scope="module")
def server() -> Iterator[VaultTwin]:
    """A twin for all tests."""
    with vault_twin() as twin:
        yield twin


@pytest.fixture
def twin(server: VaultTwin, monkeypatch: pytest.MonkeyPatch) -> VaultTwin:
    """The twin as it is when it begins, and a token for it."""
    server.secrets, server.token, server.status = {"tracker": VALUE}, TOKEN, 200
    server.location, server.body, server.seen = "", None, []
    server.drips.clear()
    monkeypatch.setenv("VAULT_TOKEN", TOKEN)
    return server


def secret_of(twin: VaultTwin, timeout: float = 20.0) -> VaultSecret:
    """The twin's secret, by a clock on which each request comes long after the one before."""
    now = count(0, 100).__next__
    return VaultSecret(twin.url, "secret", "team/artificer", timeout=timeout, now=now)


def test_one_answer_has_all_keys(twin: VaultTwin) -> None:
    """Also the token itself is taken out of texts, and no reference can name it."""
    twin.secrets |= {"other": "two", "number": 7, "empty": ""}
    source = VaultSecret(twin.url, "secret", "team/artificer", now=lambda: 0.0)
    assert source.resolve("TRACKER") == VALUE
    assert source.resolve("number") is source.resolve("empty") is None
    assert source.at_hand() == {"tracker": VALUE, "other": "two", "token of the vault": TOKEN}
    assert twin.seen == [("/v1/secret/data/team/artificer", TOKEN)]


@pytest.mark.parametrize(
    ("status", "words"),
    [(403, "token is not valid"), (429, "too many"), (500, "answered 500"), (503, "sealed")],
)
def test_a_refusal_is_said_and_nothing_else(twin: VaultTwin, status: int, words: str) -> None:
    twin.status, twin.body = status, b'{"errors":["' + VALUE.encode() + b'"]}'
    with pytest.raises(OperatorError, match=words) as caught:
        secret_of(twin).resolve("tracker")
    assert twin.url in caught.value.message
    assert VALUE not in str(caught.value) + str(caught.value.hint)
    assert TOKEN not in str(caught.value) + str(caught.value.hint)


def test_there_is_no_such_secret(twin: VaultTwin) -> None:
    twin.status = 404
    assert secret_of(twin).resolve("tracker") is None


def test_no_redirect_takes_the_token_elsewhere(twin: VaultTwin) -> None:
    with vault_twin() as other:
        twin.status, twin.location = 307, other.url
        with pytest.raises(OperatorError, match="answered 307"):
            secret_of(twin).resolve("tracker")
        assert other.seen == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"data": {"tracker": "version 1"}, "tracker": 1',
        b'{"data": {"data": ["tracker"]}}',
        b'{"data": {"data": {"tracker": "\xff"}}}',
        b"[" * 100_000,
    ],
)
def test_an_answer_that_is_no_secret(twin: VaultTwin, body: bytes) -> None:
    twin.body = body
    with pytest.raises(OperatorError, match="not a secret of KV"):
        secret_of(twin).resolve("tracker")


def test_a_huge_answer_is_not_read(twin: VaultTwin) -> None:
    twin.body = b'{"data":"' + b"x" * (MAX_ANSWER + 10) + b'"}'
    with pytest.raises(OperatorError, match="longer than"):
        secret_of(twin).resolve("tracker")


def test_a_server_that_never_ends_its_answer_is_left(twin: VaultTwin) -> None:
    """Each byte comes in time, and the answer as a whole does not."""
    twin.drips.set()
    with pytest.raises(OperatorError, match="does not answer"):
        secret_of(twin, timeout=0.2).resolve("tracker")


def test_nobody_listens(twin: VaultTwin) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/secret/x"
        with pytest.raises(OperatorError, match=r"does not answer \(ConnectionRefusedError\)"):
            VaultSecret(url, "secret", "x").resolve("tracker")
    twin.status = 503
    source = VaultSecret(twin.url, "secret", "team/artificer", now=lambda: 0.0)
    for name in ("one", "two", "three"):  # who is down is not asked for each name
        with pytest.raises(OperatorError, match="sealed"):
            source.resolve(name)
    assert len(twin.seen) == 1


def test_a_token_that_ends_is_replaced_without_a_restart(
    twin: VaultTwin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever renews it writes a file; each request reads it."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    monkeypatch.delenv("VAULT_TOKEN")
    monkeypatch.setenv("VAULT_TOKEN_FILE", str(file))
    source = secret_of(twin)
    assert source.resolve("tracker") == VALUE
    twin.token = "hvs.the-next-one"
    with pytest.raises(OperatorError, match="token is not valid"):
        source.resolve("tracker")
    file.write_text("hvs.the-next-one")
    assert source.resolve("tracker") == VALUE
    file.unlink()
    with pytest.raises(OperatorError, match="no token"):
        source.resolve("tracker")
    file.write_text("a\nHost: evil")
    with pytest.raises(OperatorError, match="no token"):
        source.resolve("tracker")


@pytest.mark.parametrize(
    "address",
    [
        "",
        "secret/x",
        "http://vault.example/secret/x",
        "https://vault.example",
        "https://vault.example/secret",
        "https://vault.example/secret/../sys/x",
        "https://vault.example/secret/%2e%2e/sys",
        "https://vault.example/secret//x",
        "https://me:pass@vault.example/secret/x",
        "https://vault.example/secret/x?version=1",
        "https://vault.example/secret/x#y",
        "https://vault.example:port/secret/x",
        "https://[::1/secret/x",
    ],
)
def test_an_address_that_leads_elsewhere(address: str) -> None:
    with pytest.raises(ConfigError, match="no usable address") as caught:
        VAULT.open(f"vault:{address}")
    assert "pass" not in caught.value.message
