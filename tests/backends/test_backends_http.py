"""``[http]`` tools against real servers: attacks 5 to 10 of docs/manifests.md."""

from __future__ import annotations

import asyncio
import json
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from http_support import Seen, answer, serving
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from artificer.backends.http.client import MAX_BODY, HostResolver, resolve_by_system
from artificer.backends.http.executor import HttpExecutor
from artificer.contracts.definition import EffectClass
from artificer.contracts.schema import compile_schema
from artificer.manifests.custom_types import FolderKeys, parse_folder_keys
from artificer.manifests.model import Manifest
from artificer.manifests.output import parse_output
from artificer.manifests.parse import parse_manifest
from artificer.ports import Call, Receipt
from artificer.secrets.resolver import of_environment
from artificer.storage.blobs.memory import MemoryStore

SECRET = 's3cr3t/&"value'


def make_tool(
    http: dict[str, Any],
    arguments: dict[str, dict[str, Any]] | None = None,
    *,
    output: dict[str, Any] | None = None,
    effect: EffectClass = "once",
    seconds: int = 5,
    folder: FolderKeys | None = None,
) -> Manifest:
    """A tool as its file declares it; requests may go to this machine unless it says not."""
    keys = {
        "tool": {
            "name": "t",
            "version": "1",
            "description": "d",
            "effect": effect,
            "timeout_seconds": seconds,
        },
        "args": arguments or {},
        "http": {"allow_private": True, **http},
        "output": output or {},
    }
    return parse_manifest(_toml(keys), "t.clad.toml", folder=folder)


def _toml(keys: dict[str, Any]) -> str:
    """TOML of tables whose values are JSON: TOML's inline tables differ by '=' alone."""
    lines = []
    for section, table in keys.items():
        for name, value in table.items():
            lines.append(f"{section}.{name} = {_value(value)}")
    return "\n".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


async def call(
    tool: Manifest,
    environment: dict[str, str] | None = None,
    /,
    *,
    resolve: HostResolver = resolve_by_system,
    **arguments: Any,
) -> Receipt:
    """Perform a call."""
    executor = HttpExecutor([tool], secrets=of_environment(environment or {}), resolve=resolve)
    return await executor.execute(Call("r", "c", tool.definition, arguments, "the-key"))


def read(receipt: Receipt) -> dict[str, Any]:
    """Return what the model reads."""
    read: dict[str, Any] = json.loads(receipt.content)
    return read


X = {"x": {"required": True}}


@pytest.mark.req("http-success")
async def test_a_parsed_body_is_what_the_model_reads() -> None:
    with serving(answer(body='{"n": 1}', headers={"Content-Type": "application/json"})) as server:
        tool = make_tool(
            {"url": f"{server.url}/v1/{{x}}?q={{q}}&page=1"},
            {**X, "q": {}},
            output={"format": "json", "schema": {"required": ["n"]}},
        )
        receipt = await call(tool, x="a b")
    assert receipt.status == "ok"
    assert read(receipt) == {"status": "success", "http_status": 200, "results": {"n": 1}}
    assert server.seen[0].target == "/v1/a%20b?page=1", "a pair without a value is left out"
    evidence = json.loads(receipt.evidence or "")
    assert evidence["request"] == f"GET {server.url}/v1/a%20b?page=1"
    assert evidence["body"]["text"] == '{"n": 1}'


@pytest.mark.req("http-success")
async def test_a_body_that_breaks_its_schema_is_an_error() -> None:
    with serving(answer(body='{"m": 1}')) as server:
        tool = make_tool(
            {"url": server.url}, output={"format": "json", "schema": {"required": ["n"]}}
        )
        receipt = await call(tool)
    assert receipt.status == "error"
    assert "breaks its schema" in read(receipt)["fault"]


@pytest.mark.req("http-statuses")
@pytest.mark.parametrize(
    ("status", "outcome"), [(404, "client_error"), (503, "server_error"), (304, "error")]
)
async def test_a_failing_status_says_whose_fault_it_is(status: int, outcome: str) -> None:
    with serving(answer(status, "" if status == 304 else "sorry")) as server:
        receipt = await call(make_tool({"url": server.url}))
    assert receipt.status == "error"
    assert (read(receipt)["status"], read(receipt)["http_status"]) == (outcome, status)


@pytest.mark.req("http-statuses")
async def test_a_manifest_says_which_statuses_are_successes() -> None:
    with serving(answer(404, "none")) as server:
        listed = await call(make_tool({"url": server.url, "success_status": [200, 404]}))
    with serving(answer(202, "later")) as server:
        excluded = await call(make_tool({"url": server.url, "error_status": [202]}))
    assert (listed.status, excluded.status) == ("ok", "error")


@pytest.mark.req("http-statuses")
@pytest.mark.parametrize("status", [200, 204, 302, 404, 500])
@pytest.mark.parametrize("body", ['{"n": 1}', "{", '{"m": 1}'])
async def test_what_a_model_reads_keeps_to_the_output_schema(status: int, body: str) -> None:
    output = {"format": "json", "schema": {"type": "object", "required": ["n"]}}
    with serving(answer(status, "" if status == 204 else body)) as server:
        tool = make_tool({"url": server.url}, output=output)
        receipt = await call(tool)
    assert tool.output_schema
    assert compile_schema(tool.output_schema).problems(read(receipt)) == ()


@pytest.mark.req("http-success")
async def test_without_an_envelope_a_success_is_its_results_alone() -> None:
    output = {"format": "json", "envelope": False}
    with serving(answer(body='{"n": 1}')) as server:
        bare = await call(make_tool({"url": server.url}, output=output))
    with serving(answer(500, "broken")) as server:
        failed = await call(make_tool({"url": server.url}, output=output))
    assert bare.content == '{"n":1}'
    assert read(failed)["status"] == "server_error"


# --- attack 5: values that leave their place ---------------------------------------------------


@pytest.mark.req("http-value-stays")
async def test_a_value_stays_in_its_path_segment_and_in_its_pair() -> None:
    with serving(answer()) as server:
        tool = make_tool({"url": f"{server.url}/u/{{x}}/end?q={{y}}&z=1"}, {**X, "y": {}})
        await call(tool, x="a/b/admin?q=1#f", y="1&admin=true#")
    assert server.seen[0].target == ("/u/a%2Fb%2Fadmin%3Fq%3D1%23f/end?q=1%26admin%3Dtrue%23&z=1")


@pytest.mark.req("http-value-stays")
@pytest.mark.req("http-climb")
@pytest.mark.parametrize(
    "value",
    [
        ".",
        "..",
        "",
        "../admin",
        "a/../b",
        "%2e%2e",
        "%252e%252e/x",
        "..\\admin",
        "..;/admin",
        ".. ",
    ],
)
async def test_a_segment_that_would_vanish_or_climb_is_refused(value: str) -> None:
    with serving(answer()) as server:
        receipt = await call(make_tool({"url": f"{server.url}/a/{{x}}/b"}, X), x=value)
    assert receipt.status == "invalid"
    assert server.seen == []


@pytest.mark.req("http-value-stays")
async def test_every_argument_is_checked_before_anything_is_sent() -> None:
    arguments = {"x": {"type": "enum", "allowed": ["a"], "required": True}}
    with serving(answer()) as server:
        tool = make_tool({"url": f"{server.url}/{{x}}"}, arguments)
        unknown = await call(tool, x="a", evil="b")
        missing = await call(tool)
    assert (unknown.status, missing.status) == ("invalid", "invalid")
    assert server.seen == []


@pytest.mark.req("http-value-stays")
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    value=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(
        lambda text: text not in (".", "..")
    )
)
def test_no_value_whatever_changes_the_shape_of_a_request(value: str) -> None:
    with serving(answer()) as server:
        tool = make_tool(
            {
                "method": "POST",
                "url": f"{server.url}/a/{{x}}/b?k={{x}}&end=1",
                "body_template": '{"in": "<{x}>", "whole": {x}, "end": 1}',
            },
            X,
        )
        receipt = asyncio.run(call(tool, x=value))
    assert receipt.status == "ok", receipt
    path, _, query = server.seen[0].target.partition("?")
    assert path.count("/") == 3
    assert path.startswith("/a/")
    assert path.endswith("/b")
    assert query.count("&") == 1
    assert query.endswith("&end=1")
    assert json.loads(server.seen[0].body) == {"in": f"<{value}>", "whole": value, "end": 1}


@pytest.mark.req("http-body")
async def test_a_typed_body_keeps_types_and_leaves_out_what_is_not_given() -> None:
    body = {"n": "{n}", "list": ["{n}", "{o}"], "o": "{o}", "text": 'say "{x}"', "fixed": True}
    with serving(answer()) as server:
        tool = make_tool(
            {"method": "POST", "url": server.url, "body": body},
            {**X, "n": {"type": "integer"}, "o": {}},
        )
        await call(tool, x='a"b', n=3)
    sent = json.loads(server.seen[0].body)
    assert sent == {"n": 3, "list": [3], "text": 'say "a"b"', "fixed": True}
    assert server.seen[0].headers["Content-Type"] == "application/json"


@pytest.mark.req("http-body")
async def test_a_form_is_encoded_as_a_form() -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with serving(answer()) as server:
        http = {"method": "POST", "url": server.url, "headers": form, "body_template": "a={x}&b=1"}
        await call(make_tool(http, X), x="1&b=2")
    assert server.seen[0].body == b"a=1%26b%3D2&b=1"


@pytest.mark.req("http-value-stays")
async def test_a_value_cannot_begin_another_header() -> None:
    with serving(answer()) as server:
        tool = make_tool({"url": server.url, "headers": {"X-A": "{x}"}}, {"x": {"multiline": True}})
        receipt = await call(tool, x="a\r\nX-Evil: 1")
        newline = await call(tool, x="a\nX-Evil: 1")
    assert (receipt.status, newline.status) == ("invalid", "invalid")
    assert server.seen == []


# --- attacks 6 and 7: secrets -------------------------------------------------------------------


@pytest.mark.req("http-secrets")
async def test_a_secret_in_a_value_is_only_text() -> None:
    with serving(answer()) as server:
        tool = make_tool({"method": "POST", "url": server.url, "body_template": '{"a": "{x}"}'}, X)
        await call(tool, {"ARTIFICER_SECRET_OTHER": SECRET}, x="{_secret:other}")
    assert json.loads(server.seen[0].body) == {"a": "{_secret:other}"}


@pytest.mark.req("http-secrets")
@pytest.mark.parametrize("prefix", ["TOOLCLAD_SECRET_", "ARTIFICER_SECRET_"])
async def test_a_secret_is_sent_and_kept_nowhere(prefix: str) -> None:
    def echo(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        body = f"{seen.target} {seen.headers} ".encode() + seen.body
        answer(400, body, {"Content-Type": seen.headers["X-Key"]})(handler, seen)

    with serving(echo) as server:
        tool = make_tool(
            {
                "method": "POST",
                "url": f"{server.url}/{{_secret:k}}?k={{_secret:k}}",
                "headers": {"X-Key": "Bearer {_secret:k}"},
                "body": {"k": "{_secret:k}", "x": "{x}"},
            },
            X,
        )
        receipt = await call(tool, {prefix + "K": SECRET}, x="y")
    assert server.seen[0].headers["X-Key"] == f"Bearer {SECRET}"
    assert json.loads(server.seen[0].body) == {"k": SECRET, "x": "y"}
    assert server.seen[0].target.startswith("/s3cr3t%2F%26%22value?k=")
    assert "s3cr3t" not in receipt.content
    assert "s3cr3t" not in (receipt.evidence or "")
    assert "{_secret:k}" in json.loads(receipt.evidence or "")["request"]


@pytest.mark.req("http-secrets")
async def test_a_secret_that_is_not_set_is_asked_for_and_nothing_is_sent() -> None:
    with serving(answer()) as server:
        tool = make_tool({"url": server.url, "headers": {"Authorization": "{_secret:api}"}})
        receipt = await call(tool, {"TOOLCLAD_SECRET_API": ""})
    assert "ARTIFICER_SECRET_API is not set" in read(receipt)["fault"]
    assert server.seen == []


@pytest.mark.req("http-secrets")
def test_a_plan_shows_the_names_of_secrets_only() -> None:
    tool = make_tool({"url": "http://h/{x}?k={_secret:k}", "headers": {"A": "{_secret:k}"}}, X)
    executor = HttpExecutor([tool], secrets=of_environment({"ARTIFICER_SECRET_K": SECRET}))
    request = executor.plan(Call("r", "c", tool.definition, {"x": "a/b"}, "k")).request
    assert request
    assert request.line == "GET http://h/a%2Fb?k={_secret:k}"
    assert SECRET not in repr(request)


# --- attack 8: redirects ------------------------------------------------------------------------


@pytest.mark.req("http-redirects")
async def test_credentials_never_follow_a_redirect_to_another_origin() -> None:
    with (
        serving(answer(body="taken")) as other,
        serving(answer(302, headers={"Location": f"{other.url}/x"})) as server,
    ):
        tool = make_tool({"url": server.url, "headers": {"Authorization": "{_secret:k}"}})
        receipt = await call(tool, {"ARTIFICER_SECRET_K": SECRET})
    assert "another origin" in read(receipt)["fault"]
    assert other.seen == []


@pytest.mark.req("http-redirects")
@pytest.mark.parametrize("target", ["file:///etc/hostname", "//127.0.0.1:1/x", "http://u@h/"])
async def test_a_redirect_to_anything_else_is_not_followed(target: str) -> None:
    with serving(answer(302, headers={"Location": target})) as server:
        receipt = await call(make_tool({"method": "POST", "url": server.url, "body": {}}))
    assert receipt.status == "error"
    assert len(server.seen) == 1


@pytest.mark.req("http-redirects")
@pytest.mark.parametrize(
    "target",
    ["http://[::1", "//[", "http://[x]y]/", "/a b", "/\u00e9", "http://" + "a" * 40_000],
    ids=lambda target: target[:9],
)
async def test_a_redirect_to_what_is_no_url_is_an_outcome(target: str) -> None:
    with serving(answer(302, headers={"Location": target})) as server:
        receipt = await call(make_tool({"url": f"{server.url}/"}))
    assert read(receipt)["fault"] == "The server redirects to what is no URL."
    assert receipt.evidence is not None


@pytest.mark.req("http-redirects")
async def test_a_redirect_on_the_same_origin_is_followed_with_the_credentials() -> None:
    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        there = seen.target == "/b"
        (answer(body="here") if there else answer(307, headers={"Location": "/b"}))(handler, seen)

    with serving(respond) as server:
        tool = make_tool(
            {
                "method": "POST",
                "url": f"{server.url}/a",
                "headers": {"Authorization": "{_secret:k}"},
                "body": {"a": 1},
            }
        )
        receipt = await call(tool, {"ARTIFICER_SECRET_K": SECRET})
    assert read(receipt)["body"] == "here"
    assert [(s.target, s.body) for s in server.seen] == [("/a", b'{"a":1}'), ("/b", b'{"a":1}')]
    assert server.seen[1].headers["Authorization"] == SECRET


@pytest.mark.req("http-redirects")
async def test_redirects_end() -> None:
    with serving(answer(302, headers={"Location": "/again"})) as server:
        receipt = await call(make_tool({"url": server.url}))
    assert "redirects more than" in read(receipt)["fault"]


@pytest.mark.req("http-redirects")
async def test_a_plain_request_may_follow_to_another_origin() -> None:
    asked = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        if host == "other.example":
            raise OSError("a resolver that knows no such name")
        return await resolve_by_system(host, port)

    with serving(answer(302, headers={"Location": "https://other.example/x"})) as server:
        tool = make_tool({"url": server.url, "headers": {"Accept": "*/*"}})
        receipt = await call(tool, resolve=resolve)
    assert asked == [("127.0.0.1", server.port), ("other.example", 443)]
    assert read(receipt)["fault"] == "other.example cannot be resolved."


@pytest.mark.req("http-redirects")
async def test_a_private_host_leads_to_no_other_port_of_itself() -> None:
    with (
        serving(answer(body="internal")) as other,
        serving(answer(302, headers={"Location": f"{other.url}/internal"})) as server,
    ):
        receipt = await call(make_tool({"url": server.url}))
    assert other.seen == []
    assert read(receipt)["fault"] == (
        f"The server redirects to port {other.port} of its private host, which is not followed."
    )


# --- attack 9: schemes; private addresses -------------------------------------------------------


@pytest.mark.req("http-schemes")
@pytest.mark.parametrize("value", ["file:///etc/hostname", "ftp://h/x", "gopher://h/"])
async def test_only_http_is_spoken(value: str) -> None:
    arguments = {"u": {"type": "url", "required": True}}
    receipt = await call(make_tool({"url": "{u}", "error_status": [500]}, arguments), u=value)
    assert receipt.status == "invalid"


@pytest.mark.req("http-private")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
async def test_private_addresses_are_refused_unless_the_manifest_opts_in(host: str) -> None:
    with serving(answer()) as server:
        url = f"http://{host}:{server.port}/"
        arguments = {"u": {"type": "url", "required": True}}
        fixed = await call(make_tool({"url": url, "allow_private": False}))
        chosen = await call(make_tool({"url": "{u}", "allow_private": False}, arguments), u=url)
    for receipt in (fixed, chosen):
        assert "allow_private = true" in read(receipt)["fault"]
    assert server.seen == []


class Names:
    """A resolver with these answers for these names, in order; others are the system's."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self._answers = {name.replace("_", "."): list(found) for name, found in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if host not in self._answers:
            return await resolve_by_system(host, port)
        return self._answers[host].pop(0)


@pytest.mark.req("http-private")
async def test_what_was_checked_is_what_is_connected_to() -> None:
    names = Names(rebind_example=[["127.0.0.1"], ["10.255.255.1"]])
    with serving(answer(body="here")) as server:
        tool = make_tool({"url": f"http://rebind.example:{server.port}/"})
        receipt = await call(tool, resolve=names)
    assert read(receipt)["body"] == "here"
    assert names.asked == ["rebind.example"], "a second answer is never asked for"
    assert server.seen[0].headers["Host"] == f"rebind.example:{server.port}"


@pytest.mark.req("http-private")
async def test_a_name_with_one_private_address_is_refused() -> None:
    names = Names(mixed_example=[["8.8.8.8", "127.0.0.1"]])
    with serving(answer()) as server:
        url = f"http://mixed.example:{server.port}/"
        receipt = await call(make_tool({"url": url, "allow_private": False}), resolve=names)
    assert "not on the public internet" in read(receipt)["fault"]
    assert server.seen == []


@pytest.mark.req("http-private")
@pytest.mark.parametrize("target", ["127.0.0.2", "inner.example", "2130706434", "[::ffff:7f00:2]"])
async def test_what_the_manifest_allows_is_allowed_for_its_own_host(target: str) -> None:
    """A server that may be private must not lead to another that is: a cloud's metadata, say."""
    names = Names(inner_example=[["10.0.0.1"]])
    location = {"Location": f"http://{target}:9/latest/meta-data"}
    with serving(answer(302, headers=location)) as server:
        tool = make_tool({"url": server.url})
        receipt = await call(tool, resolve=names)
    assert "is not on the public internet" in read(receipt)["fault"]
    assert len(server.seen) == 1


@pytest.mark.req("http-redirects")
@pytest.mark.parametrize("inside", [True, False])
async def test_a_redirect_leads_out_of_no_scope(inside: bool) -> None:
    names = Names(a_example=[["127.0.0.1"]] * 2, b_example=[["127.0.0.1"]])
    folder = parse_folder_keys('[scope]\nallow = ["a.example"]', "toolclad.toml")

    def respond(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        name = "a" if inside else "b"
        there = f"http://{name}.example:{handler.server.server_address[1]}/there"
        begun = seen.target == "/here"
        (answer(302, headers={"Location": there}) if begun else answer(body="there"))(handler, seen)

    with serving(respond) as server:
        argument = {"u": {"type": "url", "scope_check": True, "required": True}}
        tool = make_tool({"url": "{u}"}, argument, folder=folder)
        receipt = await call(tool, resolve=names, u=f"http://a.example:{server.port}/here")
    if inside:
        assert read(receipt)["body"] == "there"
    else:
        assert "out of the scope" in read(receipt)["fault"]
        assert len(server.seen) == 1


@pytest.mark.req("http-private")
async def test_a_host_that_does_not_answer_is_an_error() -> None:
    with serving(answer()) as server:
        port = server.port
    receipt = await call(make_tool({"url": f"http://127.0.0.1:{port}/"}))
    assert (receipt.status, read(receipt)["http_status"]) == ("error", None)


# --- attack 10: time and size -------------------------------------------------------------------


@pytest.mark.req("http-bounded")
async def test_a_dripping_server_meets_the_deadline_and_its_output_is_kept() -> None:
    def drip(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b"x")
            time.sleep(0.05)

    with serving(drip) as server:
        receipt = await call(make_tool({"url": server.url}, seconds=1))
    assert receipt.status == "timeout"
    assert read(receipt)["body"].startswith("x")


@pytest.mark.req("http-bounded")
async def test_a_huge_body_is_cut_and_said_to_be() -> None:
    def flood(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(200 * 1024 * 1024))
        handler.end_headers()
        for _ in range(200):
            handler.wfile.write(b"y" * 1024 * 1024)

    store = MemoryStore()
    with serving(flood) as server:
        tool = make_tool({"url": server.url})
        executor = HttpExecutor([tool], blobs=store)
        receipt = await executor.execute(Call("r", "c", tool.definition, {}, "k"))
    evidence = json.loads(receipt.evidence or "")
    assert evidence["body"]["size"] == MAX_BODY
    assert evidence["body"]["truncated"]
    assert "longer than" in read(receipt)["fault"]
    assert len(receipt.content) <= 32_000
    assert len(store.get(evidence["blob"])) == MAX_BODY


@pytest.mark.req("http-bounded")
async def test_the_loop_goes_on_while_a_long_body_is_read() -> None:
    body = "a,b,c\n" + "1,2,3\n" * 400_000
    gaps: list[float] = []

    async def beat() -> None:
        while True:
            before = time.perf_counter()
            try:
                await asyncio.sleep(0.001)
            finally:
                gaps.append(time.perf_counter() - before)

    with serving(answer(body=body)) as server:
        tool = make_tool({"url": server.url}, output={"format": "csv"}, seconds=60)
        started = time.perf_counter()
        parsed = parse_output(tool.output, body, complete=True)
        seconds = time.perf_counter() - started
        beats = asyncio.create_task(beat())
        receipt = await call(tool)
        beats.cancel()
        await asyncio.wait([beats])
    assert parsed is not None
    assert receipt.status == "ok"
    assert max(gaps) < 0.8 * seconds, "in the loop it would take all of them, and more"


@pytest.mark.req("http-bounded")
async def test_a_compressed_body_is_not_unpacked() -> None:
    with serving(answer(body=b"zz", headers={"Content-Encoding": "gzip"})) as server:
        receipt = await call(make_tool({"url": server.url}))
    assert "compressed" in read(receipt)["fault"]
    assert read(receipt)["status"] == "error"


@pytest.mark.req("http-bounded")
async def test_a_failure_with_a_compressed_body_has_its_status() -> None:
    with serving(answer(404, b"zz", {"Content-Encoding": "gzip"})) as server:
        receipt = await call(make_tool({"url": server.url}))
    found = read(receipt)
    assert (receipt.status, found["status"], found["http_status"]) == ("error", "client_error", 404)
    assert found["fault"].startswith("The server answered 404. The server compressed the body")
    assert found["body"] == ""


@pytest.mark.req("http-bounded")
async def test_bytes_that_are_no_text_survive() -> None:
    with serving(answer(body=b"ok\xff")) as server:
        receipt = await call(make_tool({"url": server.url}))
    assert read(receipt)["body"] == "ok\N{REPLACEMENT CHARACTER}"


# --- effects ------------------------------------------------------------------------------------


@pytest.mark.req("http-idempotency")
@pytest.mark.parametrize(("effect", "sent"), [("keyed", "the-key"), ("once", None)])
async def test_a_keyed_tool_sends_its_idempotency_key(
    effect: EffectClass, sent: str | None
) -> None:
    with serving(answer()) as server:
        await call(make_tool({"method": "POST", "url": server.url, "body": {}}, effect=effect))
    assert server.seen[0].headers.get("Idempotency-Key") == sent
