"""``[browser]`` tools: a real Chromium, and pages that want to be elsewhere."""

from __future__ import annotations

import asyncio
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from browser_support import HEAD, SCOPE, Web, needs_browser
from http_support import Seen, answer, serving

from artificer.backends.browser.visit import MAX_RESULT
from artificer.contracts.schema import compile_schema
from artificer.errors import ManifestError
from artificer.manifests.parse import parse_manifest

PAGE = """<!doctype html><title>Shop</title><h1>Hello</h1>
<a id=on href="/next">On</a>
<form action="/sent" method=post><input name=who aria-label=Name><button>Send</button></form>
<script>window.sum = 1 + 1</script>"""


def site(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
    """A page, a redirect out of scope, a page with foreign parts, and a form's target."""
    port = handler.headers["Host"].rpartition(":")[2]
    html = {"Content-Type": "text/html"}
    elsewhere = f"http://localhost:{port}/secret"
    pages = {
        "/": answer(body=PAGE, headers=html),
        "/away": answer(302, headers={"Location": elsewhere}),
        "/parts": answer(body=f'<img src="{elsewhere}"><script>fetch("{elsewhere}")</script>',
                         headers=html),
        "/sneak": answer(
            body='<form method=post action="/sent"><input name=a></form>'
            "<a onclick='document.forms[0].submit()' href='#'>Harmless</a>",
            headers=html,
        ),
    }  # fmt: skip
    pages.get(seen.target, answer(body=f"<title>{seen.target}</title>", headers=html))(
        handler, seen
    )


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-actions")
async def test_a_page_is_read_filled_in_and_sent() -> None:
    with serving(site) as server:
        async with Web() as web:
            first = await web.do("navigate", url=server.url + "/")
            assert (first["status"], first["title"], first["started"]) == ("success", "Shop", True)
            tree = (await web.do("extract"))["results"]
            assert 'heading "Hello"' in tree and 'button "Send"' in tree
            assert "Hello" in (await web.do("extract", mode="text", selector="h1"))["results"]
            assert "<h1>" in (await web.do("extract", mode="html"))["results"]
            assert (await web.do("execute_js", expression="window.sum"))["results"] == "2"
            picture = (await web.do("screenshot"))["blob"]
            assert web.blobs.get(picture).startswith(b"\x89PNG")
            assert (await web.do("type_text", selector="[name=who]", text="Ada"))[
                "status"
            ] == "success"
            sent = await web.do("submit_form", selector="role=button[name='Send']")
            assert sent["url"].endswith("/sent")
            assert [s.body for s in server.seen if s.method == "POST"] == [b"who=Ada"]
            await web.do("navigate", url=server.url + "/")
            assert (await web.do("click", selector="#on"))["url"].endswith("/next")


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-scope")
async def test_nothing_out_of_scope_is_reached_by_any_way() -> None:
    with serving(site) as server:
        outside = server.url.replace("127.0.0.1", "localhost")
        async with Web() as web:
            await web.do("navigate", url=outside + "/secret")
            away = await web.do("navigate", url=server.url + "/away")
            assert away["refused"] == {"localhost": "is not an allowed domain"}
            await web.do("navigate", url=server.url + "/parts")
            fetched = f"fetch('{outside}/secret', {{mode: 'no-cors'}}).catch(e => 0)"
            await web.do("execute_js", expression=f"{fetched}.then(() => 1)")
            await web.do(
                "execute_js",
                expression=f"void (new WebSocket('{outside}/secret'.replace('http', 'ws')))",
            )
            await web.do("execute_js", expression=f"void (location = '{outside}/secret')")
            await asyncio.sleep(0.3)
            refused = (await web.do("extract")).get("refused", {})
        hosts = {seen.headers["Host"].partition(":")[0] for seen in server.seen}
    assert hosts == {"127.0.0.1"}
    assert set(refused) <= {"localhost"}


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-scope")
async def test_other_hosts_are_those_of_the_public_internet_only() -> None:
    with serving(site) as server:
        async with Web(scope="[browser.scope]\nallow_external = true\n") as web:
            answer = await web.do("navigate", url=server.url + "/")
            assert answer["refused"] == {"127.0.0.1": "is not on the public internet"}
    assert server.seen == []


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-forms")
async def test_a_form_is_sent_by_no_other_action() -> None:
    with serving(site) as server:
        async with Web() as web:
            await web.do("navigate", url=server.url + "/")
            clicked = await web.do("click", selector="button")
            assert clicked["status"] == "error" and "use submit_form" in clicked["fault"]
            await web.do("navigate", url=server.url + "/sneak")
            await web.do("click", selector="a")
            await asyncio.sleep(0.3)
            await web.do("extract")
            assert [s.target for s in server.seen if s.method == "POST"] == []


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-limits")
async def test_what_takes_too_long_ends_with_the_browser_and_is_told_once() -> None:
    head = HEAD.replace("timeout_seconds = 8", "timeout_seconds = 2")
    with serving(site) as server:
        async with Web("max_interactions = 5", head=head) as web:
            await web.do("navigate", url=server.url + "/")
            missing = await web.do("execute_js", expression="while (true) {}")
            assert missing["status"] == "timeout"
            assert "the browser is lost" in (await web.do("extract"))["fault"]
            assert (await web.do("navigate", url=server.url + "/"))["started"] is True
            await web.do("extract")
            await web.do("extract")
            assert "all 5 interactions" in (await web.do("extract"))["fault"]


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-limits")
async def test_what_a_page_says_of_itself_is_bounded() -> None:
    state = '[browser.state]\nfields = ["title", "url"]\n'
    with serving(site) as server:
        async with Web(scope=SCOPE + state) as web:
            await web.do("navigate", url=server.url + "/")
            long = (
                "document.title = 't'.repeat(1e6); history.pushState(0, '', '#' + 'u'.repeat(1e5))"
            )
            receipt = await web.call("execute_js", expression=long)
            assert receipt.status == "ok"
            assert len(receipt.content) < 32_000
            assert len(receipt.evidence or "") < 16_000
            assert (await web.do("extract"))["title"].startswith("ttt")


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-limits")
async def test_what_is_read_of_a_page_is_bounded() -> None:
    with serving(site) as server:
        async with Web() as web:
            await web.do("navigate", url=server.url + "/")
            read = await web.do("execute_js", expression=f"'x'.repeat({MAX_RESULT})")
            assert read["fault"] == f"Not kept: the result is longer than {MAX_RESULT} characters."
            kept = await web.do("execute_js", expression=f"'x'.repeat({MAX_RESULT - 2})")
            assert len(web.blobs.get(kept["blob"])) == MAX_RESULT


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-limits")
async def test_a_browser_ends_with_its_run() -> None:
    others = _started()
    with serving(site) as server:
        async with Web() as web:
            await web.do("navigate", url=server.url + "/")
            web.executor.recall("other", {"web.extract": 1})
            before = _started() - others
        for _ in range(200):
            if not before & _started():
                break
            await asyncio.sleep(0.05)
    assert before and not before & _started()


def _started() -> set[int]:
    """The living processes that this test process has started."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            facts = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if facts[0] not in "ZX":
            found[int(stat.parent.name)] = int(facts[1])
    import os

    mine = {os.getpid()}
    while grown := {pid for pid, parent in found.items() if parent in mine} - mine:
        mine |= grown
    return mine - {os.getpid()}


@pytest.mark.req("browser-gate")
def test_every_action_is_a_tool_of_its_own_and_forms_and_scripts_are_asked_for() -> None:
    tools = Web().tools
    asked = {name for name, tool in tools.items() if tool.human_approval}
    assert asked == {"web.submit_form", "web.execute_js"}
    assert {tool.backend for tool in tools.values()} == {"browser"}
    navigate = compile_schema(tools["web.navigate"].input_schema)
    assert navigate.problems({"url": "file:///etc/passwd"})
    assert navigate.problems({"url": "http://h/", "other": 1})


@pytest.mark.req("browser-manifest")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[browser]\n" + SCOPE, "browser.commands: is missing"),
        ("[browser]\n" + SCOPE + "[browser.commands.fly]\n", "browser.commands.fly"),
        ("[browser]\n[browser.commands.click]\n", "nothing can be reached"),
        (
            "[browser]\n[browser.commands.click]\n"
            '[browser.scope]\nallowed_domains = ["http://x/"]\n',
            "is not a domain",
        ),
        (
            "[browser]\n" + SCOPE + '[browser.commands.click]\nargs.x = { type = "string" }\n',
            "args.x: is not an argument of this action; it has: selector",
        ),
        (
            "[browser]\n" + SCOPE + '[browser.commands.click.args]\nselector = { type = "port" }\n',
            "args.selector.type: must be a type whose values are: string",
        ),
        (
            "[browser]\n" + SCOPE + '[browser.commands.click]\n[browser.state]\nfields = ["x"]\n',
            "browser.state.fields",
        ),
        (
            '[browser]\nextract_mode = "text"\n' + SCOPE + "[browser.commands.click]\n"
            '[browser.defaults]\nextract_mode = "html"\n',
            "is set twice",
        ),
        (
            'mode = "session"\n[browser]\n' + SCOPE + "[browser.commands.click]\n",
            "tool.mode: is 'session', but there is a [browser]",
        ),
        ("[browser]\n" + SCOPE + "[browser.commands.login]\n", "no auth_flows to log in with"),
        (
            '[browser]\n[browser.scope]\nallowed_domains = ["admin.*"]\n[browser.commands.click]\n',
            "'admin.*' is not a domain",
        ),
    ],
)
def test_a_browser_that_could_not_be_used_as_written_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ManifestError) as caught:
        parse_manifest(HEAD + text, "w.clad.toml")
    assert fault in caught.value.message
