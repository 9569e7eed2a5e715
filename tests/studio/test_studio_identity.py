"""People whom a proxy names, and how many requests anybody may make."""

from __future__ import annotations

import re

import pytest
from starlette.datastructures import Headers
from studio_kit import http_client, serving

from artificer.config import Config, StudioConfig
from artificer.errors import InvalidValueError
from artificer.studio.identity import ProxyIdentity
from artificer.studio.protection import FAILURES_PER_MINUTE
from artificer.studio.rates import MAX_SENDERS, RateLimit
from artificer.world import World

pytestmark = pytest.mark.req("studio-identity")

HERE = ProxyIdentity("X-User", ["127.0.0.1"])


def headers(*values: bytes) -> Headers:
    return Headers(raw=[(b"x-user", value) for value in values])


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("10.1.2.3", "Zoë"),
        ("::ffff:10.1.2.3", "Zoë"),
        ("fd00::5", "Zoë"),
        ("10.2.0.1", None),
        ("127.0.0.1", None),
        ("::1", None),
        ("", None),
        ("10.1.2.3.evil.example", None),
    ],
)
def test_only_a_configured_address_names_people(address: str, name: str | None) -> None:
    identity = ProxyIdentity("X-User", ["10.1.0.0/16", "fd00::5"])
    assert identity.name(address, headers("Zoë".encode())) == name


@pytest.mark.parametrize(
    "values",
    [(), (b"",), (b" ",), (b"a", b"b"), (b"a\nb",), (b"\xff",), (b"x" * 201,), (b" Ada",)],
)
def test_what_is_not_exactly_one_name_is_none(values: tuple[bytes, ...]) -> None:
    assert HERE.name("127.0.0.1", headers(*values)) is None


async def test_a_proxied_person_has_a_name_and_forms_of_their_own() -> None:
    async with World.in_memory() as world, serving(world, identity=HERE) as studio:
        named = {b"X-User": "Zoë <b>".encode()}
        async with http_client(studio.url) as client:
            page = await client.get("/", headers=named)
            assert page.status_code == 200 and "<b>" not in page.text
            found = re.search(r'name="form_key" value="([^"]+)"', page.text)
            assert found
            data = {"form_key": found[1], "prompt": "Hi."}
            eve = {"Origin": studio.url, "X-User": "Eve"}
            forged = await client.post("/runs", data=data, headers=eve)
            assert forged.status_code == 403
        async with http_client(studio.url) as client:
            assert (await client.get("/")).status_code == 401


async def test_a_forwarded_address_is_not_believed() -> None:
    identity = ProxyIdentity("X-User", ["10.0.0.5"])
    async with World.in_memory() as world, serving(world, identity=identity) as studio:
        claims = {"X-User": "Eve", "X-Forwarded-For": "10.0.0.5", "Forwarded": "for=10.0.0.5"}
        async with http_client(studio.url, headers=claims) as client:
            assert (await client.get("/")).status_code == 401


async def test_too_many_requests_are_refused_visibly() -> None:
    config = Config(studio=StudioConfig(requests_per_minute=2))
    async with World.in_memory(config) as world, serving(world, identity=HERE) as studio:
        named = {"X-User": "Ada", "Origin": studio.url}
        async with http_client(studio.url, headers=named) as client:
            answers = [await client.post("/runs", data={"prompt": "Hi."}) for _ in range(4)]
            assert [answer.status_code for answer in answers] == [403, 403, 429, 429]
            assert int(answers[-1].headers["retry-after"]) in range(1, 61)
            assert "Too many requests" in answers[-1].text
            assert (await client.get("/")).status_code == 200  # pages are not counted
            other = await client.post("/runs", headers={"X-User": "Bob"})
            assert other.status_code == 403


async def test_guessing_is_bounded_and_keeps_nobody_out() -> None:
    async with (
        World.in_memory() as world,
        serving(world) as studio,
        http_client(studio.url) as client,
    ):
        codes = list[int]()
        while 429 not in codes and len(codes) < 20 * FAILURES_PER_MINUTE:  # some are forgiven
            codes.append((await client.get("/", params={"key": "wrong"})).status_code)
        assert codes[:FAILURES_PER_MINUTE] == [401] * FAILURES_PER_MINUTE and codes[-1] == 429
        assert (await client.get("/", params={"key": studio.key})).status_code == 303


def test_senders_are_counted_apart_and_bounded() -> None:
    at = [0.0]
    rates = RateLimit(60, lambda: at[0])
    assert [rates.take("a") for _ in range(61)] == [0] * 60 + [1]
    assert rates.take("b") == 0
    at[0] = 1.0
    assert [rates.take("a"), rates.take("a")] == [0, 1]
    for number in range(MAX_SENDERS + 5):
        rates.take(str(number))
    assert rates.take("a") == 0  # it was forgotten: the number of senders is bounded


@pytest.mark.parametrize(
    "settings",
    [
        {"identity_header": "X-User"},
        {"proxies": ("10.0.0.1",)},
        {"identity_header": "Cookie", "proxies": ("10.0.0.1",)},
        {"identity_header": "X User", "proxies": ("10.0.0.1",)},
        {"identity_header": "X-User", "proxies": ("proxy.example",)},
        {"identity_header": "X-User", "proxies": ("10.0.0.1/8",)},
        {"hosts": ("a b",)},
        {"requests_per_minute": 0},
    ],
)
def test_a_setting_that_would_let_others_in_is_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidValueError):
        StudioConfig(**settings)  # type: ignore[arg-type]
