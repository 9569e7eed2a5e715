"""Tokens as they are kept: digests with an end, in a file of their own."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from artificer.errors import AuthorError, NotFoundError, TamperedError
from artificer.studio.access import Actor
from artificer.studio.tokens import DAY_MS, HOUR_MS, MAX_TOKENS, NAME, ApiTokens

pytestmark = pytest.mark.req("studio-tokens")


class Clock:
    """A time that the test sets."""

    def __init__(self) -> None:
        self.at = 1_000_000

    def now(self) -> int:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(tmp_path: Path, clock: Clock) -> ApiTokens:
    return ApiTokens(tmp_path / "world", clock.now)


def test_a_token_is_kept_as_a_digest_that_only_its_user_reads(
    tokens: ApiTokens, tmp_path: Path
) -> None:
    token, text = tokens.new("dashboard", ("read",), 1)
    path = tmp_path / "world" / NAME
    assert text not in path.read_text("utf-8")
    assert text.split("_", 2)[2] not in path.read_text("utf-8")
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert re.fullmatch(r"artificer_[0-9a-f]{8}_[\w-]{43}", text)
    found = tokens.find(text)
    assert found == token and found.scopes == ("read",)


def test_admin_may_do_everything() -> None:
    admin, reader = (
        Actor("me", scopes=frozenset({"admin"})),
        Actor("you", scopes=frozenset({"read"})),
    )
    assert admin.allows("read") and admin.allows("approve")
    assert reader.allows("read") and not reader.allows("act")


@pytest.mark.parametrize("change", [str.upper, lambda t: t[:-1], lambda t: t + "A", lambda t: ""])
def test_almost_a_token_is_none(tokens: ApiTokens, change: object) -> None:
    _, text = tokens.new("a", ("read",), 1)
    assert callable(change) and tokens.find(change(text)) is None


@pytest.mark.parametrize("text", ["artificer_00000000_" + "A" * 43, "\ud800", "ſ" * 10_000, "_"])
def test_a_hostile_token_is_none(tokens: ApiTokens, text: str) -> None:
    tokens.new("a", ("read",), 1)
    assert tokens.find(text) is None


def test_a_token_ends(tokens: ApiTokens, clock: Clock) -> None:
    _, text = tokens.new("a", ("read",), 2)
    clock.at += 2 * DAY_MS - 1
    assert tokens.find(text) is not None
    clock.at += 1
    assert tokens.find(text) is None and tokens.valid() == ()


def test_another_process_revokes_at_once(tokens: ApiTokens, clock: Clock, tmp_path: Path) -> None:
    token, text = tokens.new("a", ("read",), 2)
    assert tokens.find(text)
    ApiTokens(tmp_path / "world", clock.now).revoke(token.id)
    assert tokens.find(text) is None
    with pytest.raises(NotFoundError):
        tokens.revoke(token.id)


def test_a_rotated_token_is_valid_as_long_as_was_said(tokens: ApiTokens, clock: Clock) -> None:
    old, old_text = tokens.new("a", ("read", "approve"), 30)
    new, new_text = tokens.rotate(old.id, keep_hours=24)
    assert (new.name, new.scopes) == (old.name, old.scopes) and new_text != old_text
    assert tokens.find(old_text) and tokens.find(new_text) == new
    clock.at += 24 * HOUR_MS
    assert tokens.find(old_text) is None and tokens.find(new_text) == new
    tokens.rotate(new.id)
    assert tokens.find(new_text) is None


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1b[2J", "x" * 81, "\u202eevil"])
def test_a_name_that_would_deceive_is_refused(tokens: ApiTokens, name: str) -> None:
    with pytest.raises(AuthorError):
        tokens.new(name, ("read",), 1)


@pytest.mark.parametrize("days", [0, -1, 367])
def test_every_token_ends(tokens: ApiTokens, days: int) -> None:
    with pytest.raises(AuthorError):
        tokens.new("a", ("read",), days)


@pytest.mark.parametrize("bad", [b"", b"[]", b'{"tokens": [{}]}', b"\xff", b'{"tokens":[],"x":1}'])
def test_a_damaged_file_lets_nobody_in(tokens: ApiTokens, tmp_path: Path, bad: bytes) -> None:
    _, text = tokens.new("a", ("read",), 1)
    (tmp_path / "world" / NAME).write_bytes(bad)
    for use in (lambda: tokens.find(text), lambda: tokens.new("b", ("read",), 1)):
        with pytest.raises(TamperedError):
            use()


def test_many_processes_lose_no_token(tokens: ApiTokens, clock: Clock, tmp_path: Path) -> None:
    def make(number: int) -> str:
        return ApiTokens(tmp_path / "world", clock.now).new(f"n{number}", ("read",), 1)[1]

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(make, range(24)))
    assert len(tokens.all()) == 24 and all(map(tokens.find, texts))


def test_tokens_are_bounded(tokens: ApiTokens, tmp_path: Path) -> None:
    tokens.new("a", ("read",), 1)
    path = tmp_path / "world" / NAME
    (kept,) = json.loads(path.read_text("utf-8"))["tokens"]
    path.write_text(json.dumps({"tokens": [kept] * MAX_TOKENS}), "utf-8")
    with pytest.raises(AuthorError):
        tokens.new("b", ("read",), 1)
