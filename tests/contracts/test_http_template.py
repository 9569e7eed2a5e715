"""The ``[http]`` section of a manifest, and the addresses that are public."""

from __future__ import annotations

import json
from typing import Any

import pytest

from artificer.backends.http.spec.keys import HttpKeys
from artificer.backends.http.spec.request import MAX_URL, build_request, described
from artificer.backends.http.spec.template import read_template
from artificer.contracts.arguments.types import Argument
from artificer.contracts.public_address import is_public

ARGUMENTS = {
    "x": Argument(name="x", required=True),
    "opt": Argument(name="opt"),
    "u": Argument(name="u", type="url", required=True),
    "ftp": Argument(name="ftp", type="url", required=True, schemes=("http", "file")),
    "env": Argument(name="env", type="enum", allowed=("a", "b"), required=True),
    "host": Argument(name="host", type="ip_address", required=True),
}
SECRET = {"Authorization": "Bearer {_secret:k}"}


@pytest.mark.req("http-manifest")
@pytest.mark.parametrize(
    ("used", "keys", "message"),
    [
        ((), {"url": "file:///etc/hostname"}, "must begin with http"),
        ((), {"url": "http://u:p@h/"}, "no user"),
        ((), {"url": "http://h/#x"}, "fragment"),
        ((), {"url": "http://h/ü"}, "percent-encode"),
        ((), {"url": "http://h ost/"}, "no valid host"),
        ((), {"url": "http://{_secret:k}/"}, "secret in its host"),
        (("x",), {"url": "http://{x}/"}, "part of the host"),
        (("x",), {"url": "{x}"}, "must be of the type 'url'"),
        (("ftp",), {"url": "{ftp}"}, "other schemes"),
        (("u",), {"url": "{u}", "headers": SECRET}, "a host that an argument chooses"),
        (("host",), {"url": "http://{host}/", "headers": SECRET}, "a host that an argument"),
        (("opt",), {"url": "http://h/{opt}"}, "would have a hole"),
        ((), {"url": "http://h/{y}"}, "{y} is not an argument"),
        (("x",), {"url": "http://h/"}, "'x' is not used"),
        ((), {"url": "http://h/", "headers": {"Host": "a"}}, "written by Artificer"),
        ((), {"url": "http://h/", "headers": {"A": "1", "a": "2"}}, "twice"),
        ((), {"url": "http://h/", "headers": {"A b": "1"}}, "not a valid header name"),
        ((), {"url": "http://h/", "headers": {"A": "1\r\nB: 2"}}, "printable ASCII"),
        ((), {"url": "http://h/", "body_template": "{}"}, "a GET request has no body"),
        ((), {"method": "POST", "url": "http://h/", "body_template": "{'a'}"}, "is not JSON"),
        ((), {"method": "POST", "url": "http://h/", "body_template": "1", "body": 1}, "combined"),
        (
            (),
            {
                "method": "POST",
                "url": "http://h/",
                "headers": {"Content-Type": "text/xml"},
                "body_template": "<a/>",
            },
            "cannot be written safely",
        ),
        ((), {"url": "http://h/", "success_status": [200], "error_status": [200]}, "200 is also"),
    ],
)
def test_a_section_that_cannot_be_safe_is_refused(
    used: tuple[str, ...], keys: dict[str, Any], message: str
) -> None:
    http = HttpKeys.model_validate_json(json.dumps(keys))
    template, faults = read_template(http, {name: ARGUMENTS[name] for name in used})
    assert template is None
    assert any(message in fault.message for fault in faults), faults


@pytest.mark.req("http-manifest")
@pytest.mark.parametrize(
    ("used", "keys"),
    [
        (("env",), {"url": "https://{env}.example.com/", "headers": SECRET}),
        (("u",), {"url": "{u}"}),
        (("opt",), {"url": "http://h/?q={opt}&k={_secret:k}"}),
        (("x",), {"url": "http://h/{x}/{_secret:k}"}),
    ],
)
def test_what_is_safe_is_read(used: tuple[str, ...], keys: dict[str, Any]) -> None:
    template, faults = read_template(HttpKeys(**keys), {name: ARGUMENTS[name] for name in used})
    assert template, faults


@pytest.mark.req("http-value-stays")
@pytest.mark.parametrize(("host", "written"), [("::1", "[::1]"), ("8.8.8.8", "8.8.8.8")])
def test_an_address_in_the_place_of_the_host(host: str, written: str) -> None:
    arguments = {"host": ARGUMENTS["host"]}
    template, faults = read_template(HttpKeys(url="http://{host}:81/"), arguments)
    assert template, faults
    built = build_request(template, {"host": host})
    assert built.request and described(built.request.url) == f"http://{written}:81/"


@pytest.mark.req("http-body")
def test_a_plain_text_body_holds_a_value_as_it_is() -> None:
    http = HttpKeys(
        method="POST",
        url="http://h/",
        headers={"Content-Type": "text/plain"},
        body_template="Say {x}.",
    )
    template, faults = read_template(http, {"x": ARGUMENTS["x"]})
    assert template, faults
    built = build_request(template, {"x": 'a "b" & c'})
    assert built.request and described(built.request.body or ()) == 'Say a "b" & c.'


@pytest.mark.req("http-bounded")
def test_a_url_that_is_too_long_is_a_problem_of_the_whole_call() -> None:
    template, faults = read_template(HttpKeys(url="http://h/{x}"), {"x": ARGUMENTS["x"]})
    assert template, faults
    fits = MAX_URL - len("http://h/")
    assert build_request(template, {"x": "a" * fits}).request
    built = build_request(template, {"x": "a" * (fits + 1)})
    assert built.request is None
    assert [(p.pointer, p.limit) for p in built.problems] == [("", MAX_URL)]


@pytest.mark.req("http-private")
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "240.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "ff02::1",
        "fec0::1",
        "3fff::1",
        "192.0.0.8",
        "192.88.99.1",
        "::7f00:1",
        "::",
        "hello",
    ],
)
def test_what_is_not_the_public_internet(address: str) -> None:
    assert not is_public(address)


@pytest.mark.req("http-private")
@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "2002:808:808::1"])
def test_what_is_the_public_internet(address: str) -> None:
    assert is_public(address)
