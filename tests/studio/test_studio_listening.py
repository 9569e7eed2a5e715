"""Where the studio may listen."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from artificer.cli.execution.listening import listen
from artificer.cli.studio.listening import check_host, names_of
from artificer.config import StudioConfig
from artificer.errors import ConfigError, OperatorError
from artificer.studio.tokens import ApiTokens

pytestmark = pytest.mark.req("studio-hosts")

PROXIED = StudioConfig(identity_header="X-User", proxies=("10.0.0.1",))


@pytest.fixture
def tokens(tmp_path: Path) -> ApiTokens:
    return ApiTokens(tmp_path, lambda: 0)


@pytest.mark.parametrize("host", ["192.0.2.7", "0.0.0.0", "::", "studio.example.org"])
def test_others_are_let_in_only_where_something_says_who_they_are(
    tokens: ApiTokens, host: str
) -> None:
    named = StudioConfig(hosts=("studio.example.org",))
    with pytest.raises(ConfigError):
        check_host(host, named, tokens)
    check_host(host, PROXIED.replace(hosts=named.hosts), tokens)
    tokens.new("a", ("read",), 1)
    check_host(host, named, tokens)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_this_machine_needs_nothing(tokens: ApiTokens, host: str) -> None:
    check_host(host, StudioConfig(), tokens)


def test_every_address_needs_a_name(tokens: ApiTokens) -> None:
    tokens.new("a", ("read",), 1)
    with pytest.raises(ConfigError):
        check_host("0.0.0.0", StudioConfig(), tokens)


def test_only_its_own_names_are_answered() -> None:
    assert "192.0.2.7:80" in names_of("192.0.2.7", 80, ())
    assert "localhost:80" not in names_of("192.0.2.7", 80, ())
    assert "localhost:8642" in names_of("127.0.0.1", 8642, ())
    assert "[::1]:8642" in names_of("::1", 8642, ())
    shared = names_of("0.0.0.0", 8642, ["studio.example.org"])
    assert {"studio.example.org", "studio.example.org:8642"} <= shared
    assert not any("0.0.0.0" in name for name in shared)


def test_a_taken_port_is_an_error_that_says_so() -> None:
    with listen("The studio", "127.0.0.1", 0) as taken, pytest.raises(OperatorError):
        listen("The studio", "127.0.0.1", taken.getsockname()[1])


@pytest.mark.req("studio-at-once")
def test_what_is_sent_leaves_at_once() -> None:
    """The body of an answer does not wait until its head was acknowledged."""
    with listen("The studio", "127.0.0.1", 0) as listening:
        with socket.create_connection(listening.getsockname()):
            accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
