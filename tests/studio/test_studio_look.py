"""One look for reports and the studio, and pages for what goes wrong."""

from __future__ import annotations

import json
import re
from importlib import resources
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studio_kit import Studio, http_client

from artificer.agent import Agent
from artificer.providers.scripted import ScriptedProvider, say
from artificer.render.stylesheet import stylesheet, tokens
from artificer.studio.access import Access
from artificer.studio.app import studio
from artificer.studio.assets import asset_root
from artificer.studio.indented import LONGEST, indented
from artificer.studio.words import coded, day, stamp
from artificer.world import World

STATIC = resources.files("artificer.studio") / "static"
SHEETS = {
    **{one.name: one.read_text("utf-8") for one in STATIC.iterdir() if one.name.endswith(".css")},
    "report.css": stylesheet("report.css").removeprefix(tokens()),
    "made.css": stylesheet("made.css").removeprefix(tokens()),
}


@pytest.mark.req("studio-look")
@pytest.mark.parametrize("name", sorted(SHEETS))
def test_colours_and_fonts_are_those_of_the_tokens(name: str) -> None:
    text = re.sub(r"/\*.*?\*/", "", SHEETS[name], flags=re.DOTALL)
    known = set(re.findall(r"(--[\w-]+):", tokens()))
    assert set(re.findall(r"var\((--[\w-]+)", text)) <= known
    assert re.findall(r"(--[\w-]+)\s*:", text) == []
    values = "".join(re.findall(r"\{([^{}]*)\}", text)).replace("background: #ffffff", "")
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(", values) == []
    assert re.findall(r"font(?:-family)?:[^;]*(?:system-ui|serif\b(?!\)))", values) == []


@pytest.mark.req("studio-look")
async def test_the_studio_serves_the_tokens_that_reports_have(
    served: Studio, client: httpx.AsyncClient
) -> None:
    answer = await client.get(f"{asset_root()}/tokens.css")
    assert answer.headers["content-type"].startswith("text/css")
    assert answer.text == tokens()
    assert (
        f'<link rel="stylesheet" href="{asset_root()}/tokens.css">' in (await client.get("/")).text
    )


@pytest.mark.req("studio-problems")
@pytest.mark.parametrize(
    "path", ["/nowhere", "/runs/nowhere", "/runs/<b>x", "/compare", "/runs/r/decisions/answer"]
)
async def test_an_error_is_a_page_that_leads_on(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code in (404, 405)
    assert answer.headers["content-type"].startswith("text/html")
    assert "<h1>" in answer.text and 'href="/search"' in answer.text
    assert "<b>" not in answer.text and "default-src" in answer.headers["content-security-policy"]


@pytest.mark.req("studio-problems")
async def test_what_a_run_does_not_have_leads_to_the_run(
    served: Studio, client: httpx.AsyncClient
) -> None:
    run = await served.world.run("Hi.", Agent(ScriptedProvider([say("Hello.")]), kind="chat"))
    link = 'href="/runs/{}">Go to the run'
    for path in ("records/99", "sources/x"):
        answer = await client.get(f"/runs/{run.id}/{path}")
        assert (answer.status_code, link.format(run.id) in answer.text) == (404, True), path
    assert link.format("nowhere") not in (await client.get("/runs/nowhere")).text


@pytest.mark.req("studio-problems")
async def test_the_page_of_somebody_unknown_leads_nowhere(served: Studio) -> None:
    async with http_client(served.url) as stranger:
        answer = await stranger.get("/inbox")
        assert "Open the address that" in answer.text and "<nav" not in answer.text
        assert "<script" not in answer.text and "Ada" not in answer.text
        other = await stranger.get("/", headers={"Host": "evil.example"})
        assert (other.status_code, "<nav" in other.text) == (421, False)
        assert (await stranger.get("/api/v1/runs")).json()["error"]["code"]


class Broken:
    """A world with a bug: it does what another one does, but for its archive."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        if name == "archive":
            raise AttributeError("Broken has no archive")
        return getattr(self._world, name)


@pytest.mark.req("studio-problems")
async def test_a_bug_is_a_page_without_its_text() -> None:
    access = Access("Ada")
    async with World.in_memory() as whole:
        world: Any = Broken(whole)
        app = httpx.ASGITransport(studio(world, access, ["here"]), raise_app_exceptions=False)
        async with http_client("http://here", transport=app) as client:
            await client.get("/", params={"key": access.key})
            answer = await client.get("/")
    assert answer.status_code == 500 and "Something is wrong" in answer.text
    assert "Broken" not in answer.text and "archive" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda some: st.lists(some) | st.dictionaries(st.text(), some),
)


@pytest.mark.req("studio-decisions")
@given(JSON, st.booleans())
def test_json_is_put_on_lines_and_no_token_changes(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"))
    shown = indented(text)
    assert json.loads(shown) == value
    if "\\" not in text and '" ' not in text and " " not in text and "\n" not in text:
        assert re.sub(r"\n *|(?<=:) ", "", shown) == text


@pytest.mark.req("studio-decisions")
@pytest.mark.parametrize(
    "text", ['{"a":', "[", "{not json}", "[" * 9_000 + "]" * 9_000, f'["{"x" * LONGEST}"]', "", "7"]
)
def test_other_texts_are_shown_as_they_are(text: str) -> None:
    assert indented(text) == text


@pytest.mark.req("studio-decisions")
def test_numbers_keep_their_digits() -> None:
    text = '{"a":1e400,"b":[0.10,12345678901234567890],"c":{}}'
    assert [line.strip() for line in indented(text).split("\n")] == [
        "{",
        '"a": 1e400,',
        '"b": [',
        "0.10,",
        "12345678901234567890",
        "],",
        '"c": {}',
        "}",
    ]


@pytest.mark.req("studio-problems")
@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("`artificer runs` lists them.", "<code>artificer runs</code> lists them."),
        ("<b> `<i>\u202e`", "&lt;b&gt; <code>&lt;i&gt;\u27e8U+202E\u27e9</code>"),
        ("a ` alone {0}", "a ` alone {0}"),
        ("`{0}` {}", "<code>{0}</code> {}"),
        ("", ""),
    ],
)
def test_what_to_type_is_code_and_nothing_else_is_markup(text: str, markup: str) -> None:
    assert coded(text) == markup


@pytest.mark.req("studio-look")
def test_moments_are_written_out() -> None:
    assert day(0) == "1 Jan 1970"
    assert stamp(1_700_000_000_000) == "14 Nov 2023, 22:13:20 UTC"
