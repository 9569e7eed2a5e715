"""The browser format beyond the plain actions: narrowed arguments, state, logins."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs

import pytest
from browser_support import COMMANDS, HEAD, SCOPE, Web, needs_browser
from http_support import Seen, answer, serving

from artificer.backends.browser.spec.flows import secret_name
from artificer.backends.browser.totp import totp
from artificer.contracts.schema import compile_schema
from artificer.errors import ManifestError
from artificer.manifests.parse import parse_manifest

HTML = {"Content-Type": "text/html"}
SEED = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

PAGE = """<!doctype html><title>Shop</title><h1 id=top>Hello</h1><input name=q autofocus>
<div style="height:3000px"></div><script>
setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<p id=late>late</p>'), 200)
</script>"""
LOGIN = """<!doctype html><title>Log in</title><form method=post action="/password">
<input id=user name=user><input id=pass name=pass type=password><button id=go>Go</button></form>"""
CODE = """<!doctype html><title>Code</title><form method=post action="/code">
<input id=otp name=otp><button>Go</button></form>"""


def site(handler: BaseHTTPRequestHandler, seen: Seen) -> None:
    """A page, and a login in two steps whose last page repeats the password."""
    form = parse_qs(seen.body.decode())
    moved = {"Content-Type": "text/html", "Set-Cookie": "sid=1; HttpOnly"}
    match seen.method, seen.target:
        case "POST", "/password" if form.get("pass") == ["correct horse"]:
            answer(body=CODE, headers=HTML)(handler, seen)
        case "POST", "/code" if len(form.get("otp", [""])[0]) == 6:
            answer(303, headers={**moved, "Location": "/home?was=correct+horse"})(handler, seen)
        case "POST", _:
            answer(body=f"{form} is wrong", headers=HTML)(handler, seen)
        case _, "/login":
            answer(body=LOGIN, headers=HTML)(handler, seen)
        case _, "/home?was=correct+horse":
            answer(body="<title>Home of ada</title>correct horse", headers=HTML)(handler, seen)
        case _:
            answer(body=PAGE, headers=HTML)(handler, seen)


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-actions")
async def test_the_actions_of_the_format() -> None:
    with serving(site) as server:
        async with Web() as web:
            await web.do("navigate", url=server.url + "/")
            assert (await web.do("type_text", text="tea"))["status"] == "success"
            value = await web.do("execute_js", expression="document.querySelector('input').value")
            assert value["results"] == '"tea"'
            assert (await web.do("wait_for", selector="#late"))["status"] == "success"
            missing = await web.do("wait_for", selector="#never", timeout_ms=100)
            assert missing["status"] == "error"
            assert (await web.do("extract_html", selector="h1"))["results"] == "Hello"
            assert 'heading "Hello"' in (await web.do("snapshot"))["results"]
            await web.do("scroll", direction="down", amount=5)
            assert (await web.do("execute_js", expression="scrollY"))["results"] == "500"
            tabs = json.loads((await web.do("list_tabs"))["results"])
            assert tabs == [{"title": "Shop", "url": server.url + "/"}]
            timing = json.loads((await web.do("network_timing"))["results"])
            assert timing[0]["url"] == server.url + "/"
            await web.do("navigate", url=server.url + "/other")
            assert (await web.do("go_back"))["url"] == server.url + "/"


@pytest.mark.req("browser-actions")
def test_a_command_narrows_the_arguments_of_its_action() -> None:
    commands = """[browser.commands.navigate]
args.url = { type = "url", schemes = ["https"], scope_check = true }
[browser.commands.click]
args.selector = { type = "string", pattern = "#[a-z]+" }
[browser.commands.type_text]
args.text = { type = "string", sanitize = ["injection"] }
[browser.commands.wait_for]
args.timeout_ms = { type = "integer", max = 900, default = 300 }
"""
    tools = Web(commands=commands).tools
    click = compile_schema(tools["web.click"].input_schema)
    assert not click.problems({"selector": "#on"}) and click.problems({"selector": "div"})
    typed = tools["web.type_text"].input_schema
    assert list(typed["properties"]) == ["text"]  # type: ignore[arg-type]
    assert typed["required"] == ["text"]
    wait = compile_schema(tools["web.wait_for"].input_schema)
    assert wait.problems({"selector": "a", "timeout_ms": 901})
    assert wait.problems({"selector": "a", "timeout_ms": 99})
    assert not wait.problems({"selector": "a"})


@pytest.mark.req("browser-scope")
async def test_an_address_out_of_scope_is_refused_before_a_browser_is_started() -> None:
    commands = '[browser.commands.navigate]\nargs.url = { type = "url", schemes = ["https"] }\n'
    scope = SCOPE + 'blocked_domains = ["admin.*"]\n'
    web = Web(commands=commands, scope=scope + "allow_external = true\n")
    for url, reason in (
        ("https://admin.example.org/", "is blocked"),
        ("http://example.org/", "https://"),
        ("https://a@example.org/", "user"),
    ):
        refused = await web.do("navigate", url=url)
        assert refused["status"] == "invalid", url
        assert reason in refused["problems"][0]["message"]


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-state")
async def test_state_and_pictures_are_kept_of_every_action() -> None:
    head = HEAD + "[tool.evidence]\nscreenshots = true\ncapture = true\n"
    state = '[browser.state]\nfields = ["domain", "has_forms", "is_authenticated", "tab_count"]\n'
    with serving(site) as server:
        async with Web(head=head, scope=SCOPE + state) as web:
            plain = await web.do("navigate", url=server.url + "/")
            assert plain["state"] == {
                "domain": "127.0.0.1",
                "has_forms": False,
                "is_authenticated": False,
                "tab_count": 1,
            }
            assert (await web.do("navigate", url=server.url + "/login"))["state"]["has_forms"]
            evidence = json.loads(web.receipts[-1].evidence or "")
            assert web.blobs.get(evidence["picture"]).startswith(b"\x89PNG")
            assert web.blobs.get(evidence["blob"]) == b"HTTP status 200"


def flow(url: str, **changed: str) -> str:
    """The login of a manifest."""
    keys = {
        "login_url": f"{url}/login",
        "username_selector": "#user",
        "password_selector": "#pass",
        "submit_selector": "#go",
        "success_indicator": "url_contains=/home",
        "secret_ref": "vault:shop/web-login",
        "mfa_handler": "totp",
        "mfa_selector": "#otp",
        "mfa_secret_ref": "vault:shop/totp-seed",
        **changed,
    }
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return f"[browser.auth_flows.shop]\n{lines}"


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-login")
async def test_a_login_is_made_and_its_secrets_are_told_to_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = '[browser.state]\nfields = ["is_authenticated", "url"]\n'
    with serving(site) as server:
        async with Web(scope=SCOPE + state, commands=COMMANDS + flow(server.url)) as web:
            assert web.tools["web.login"].human_approval
            unset = await web.do("login", service="shop")
            assert "ARTIFICER_SECRET_SHOP_WEB_LOGIN_USERNAME is not set" in unset["fault"]
            monkeypatch.setenv("ARTIFICER_SECRET_SHOP_WEB_LOGIN_USERNAME", "ada")
            monkeypatch.setenv("TOOLCLAD_SECRET_SHOP_WEB_LOGIN_PASSWORD", "correct horse")
            monkeypatch.setenv("ARTIFICER_SECRET_SHOP_TOTP_SEED", SEED)
            done = await web.do("login", service="shop")
            assert (done["status"], done["results"]) == ("success", "Logged in to shop.")
            assert done["state"]["is_authenticated"] and done["title"] == "Home of ada"
            await web.do("extract", mode="text")
            await web.do("extract_html")
        codes = [parse_qs(s.body.decode())["otp"] for s in server.seen if s.target == "/code"]
        assert len(codes) == 1
        told = "".join(r.content + (r.evidence or "") for r in web.receipts)
        kept = b"".join(web.blobs.get(digest) for digest in web.blobs.digests())
        for secret in ("correct horse", "correct+horse", SEED):
            assert secret not in told and secret.encode() not in kept
        assert "[secret shop_web_login_password]" in told


@needs_browser
@pytest.mark.browser
@pytest.mark.req("browser-login")
async def test_a_login_that_fails_leaves_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARTIFICER_SECRET_SHOP_WEB_LOGIN_USERNAME", "ada")
    monkeypatch.setenv("ARTIFICER_SECRET_SHOP_WEB_LOGIN_PASSWORD", "wrong horse")
    monkeypatch.setenv("ARTIFICER_SECRET_SHOP_TOTP_SEED", SEED)
    with serving(site) as server:
        async with Web(commands=COMMANDS + flow(server.url)) as web:
            failed = await web.do("login", service="shop")
            assert failed["status"] == "error" and failed["url"] == "about:blank"
            assert "wrong horse" not in (await web.call("extract", mode="html")).content


@pytest.mark.req("browser-login")
@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"login_url": "https://elsewhere.example/"}, "'elsewhere.example' is not an allowed"),
        ({"mfa_handler": "sms"}, "only 'totp' can be answered here"),
        ({"mfa_selector": ""}, "needs mfa_selector and mfa_secret_ref"),
        ({"success_indicator": "somehow"}, "success_indicator"),
        ({"secret_ref": "vault:/"}, "names no secret"),
    ],
)
def test_a_login_that_could_not_be_made_is_refused(changed: dict[str, str], fault: str) -> None:
    text = HEAD + "[browser]\n" + SCOPE + COMMANDS + flow("http://127.0.0.1", **changed)
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text, "w.clad.toml")
    assert fault in caught.value.message


@pytest.mark.req("browser-login")
def test_with_compat_a_login_that_needs_a_person_is_left_out() -> None:
    text = HEAD + "[browser]\n" + SCOPE + COMMANDS + flow("http://127.0.0.1", mfa_handler="sms")
    manifest = parse_manifest(text, "w.clad.toml", compat=True)
    assert any("only 'totp'" in warning for warning in manifest.warnings)
    with_one = Web(commands=COMMANDS + flow("http://127.0.0.1")).tools
    assert "web.login" in with_one


@pytest.mark.req("browser-login")
@pytest.mark.parametrize(
    ("now", "code"),  # RFC 6238 appendix B, its last six digits
    [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (20000000000, "353130")],
)
def test_one_time_passwords(now: int, code: str) -> None:
    assert totp(SEED, now) == totp(f"{SEED[:4].lower()} {SEED[4:]}", now) == code


@pytest.mark.req("browser-login")
def test_references_are_names_of_secrets() -> None:
    assert secret_name("vault:github/web-credentials") == "github_web_credentials"
    assert secret_name("shop") == "shop"
    with pytest.raises(ValueError, match="base32"):
        totp("not base32!", 0)
