"""MCP Apps: the SDK's client reads reports, and a browser shows them as a host would."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.types import TextResourceContents

import preloaded
from artificer.backends.browser.window import browser_program
from artificer.cli.mcp.apps import APP, app_page
from artificer.config import Config
from artificer.world import World
from needs import has, reason

pytestmark = pytest.mark.req("mcp-apps")

HOSTILE = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
TABLE = {"kind": "table", "id": "t", "columns": ["a"], "rows": [[HOSTILE]]}


@asynccontextmanager
async def client(folder: Path) -> AsyncIterator[Client]:
    """The SDK's client of a server that makes artifacts."""
    words = ["--home", str(folder / "home"), "--project", "p", "mcp", "--artifacts"]
    env = {"PATH": os.environ["PATH"]}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "artificer", *words], env=env, cwd=folder
    )
    with preloaded.started_here():
        async with Client(server, cache=None) as connected:
            yield connected


async def page_of(mcp: Client, uri: str) -> str:
    """The page of a resource, which has the type that hosts show."""
    (found,) = (await mcp.read_resource(uri)).contents
    assert isinstance(found, TextResourceContents)
    assert (str(found.uri), found.mime_type) == (uri, APP_MIME_TYPE)
    assert found.meta and found.meta["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}
    return found.text


async def test_a_tool_names_an_app_and_its_result_a_report(tmp_path: Path) -> None:
    async with client(tmp_path) as mcp:
        assert EXTENSION_ID in (mcp.server_capabilities.extensions or {})
        (tool,) = (t for t in (await mcp.list_tools()).tools if t.name == "create_table")
        assert tool.meta == {"ui": {"resourceUri": APP}}
        assert await page_of(mcp, APP) == app_page()
        result = await mcp.call_tool("create_table", {"table": TABLE})
        assert result.meta and not result.is_error
        uri, run_id = result.meta["artificer/report"], result.meta["artificer/run"]
        listed = {str(resource.uri) for resource in (await mcp.list_resources()).resources}
        assert {APP, uri} <= listed
        page = await page_of(mcp, uri)
        failed = await mcp.call_tool("create_table", {"table": {}})
        assert failed.is_error and "artificer/report" not in (failed.meta or {})
    async with World.open(Config(home=tmp_path / "home", project="p")) as world:
        assert page == (await world.get(run_id)).html
    assert "<script" not in page and "<img src=x" not in page


@pytest.mark.parametrize(
    "uri", ["ui://artificer/report/", "ui://artificer/report/../x", "ui://evil/report", f"{APP}/x"]
)
async def test_a_page_of_no_call_is_refused(tmp_path: Path, uri: str) -> None:
    async with client(tmp_path) as mcp:
        with pytest.raises(MCPError):
            await mcp.read_resource(uri)


HOST = """<!doctype html><iframe sandbox="allow-scripts"></iframe><script>
const frame = document.querySelector("iframe");
const log = window.log = [];
const answer = (id, result) => frame.contentWindow.postMessage({ jsonrpc: "2.0", id, result }, "*");
addEventListener("message", (event) => {
  const { id, method, params } = event.data;
  log.push(method);
  if (method === "ui/initialize") answer(id, { protocolVersion: params.protocolVersion });
  if (method === "ui/notifications/initialized") {
    const result = { content: [], _meta: { "artificer/report": "ui://artificer/report/x" } };
    const method = "ui/notifications/tool-result";
    frame.contentWindow.postMessage({ jsonrpc: "2.0", method, params: result }, "*");
  }
  if (method === "resources/read") answer(id, { contents: [{ uri: params.uri, text: REPORT }] });
});
const REPORT = %s;
frame.srcdoc = %s;
</script>"""


@pytest.mark.browser
@pytest.mark.skipif(not has("chromium"), reason=reason("chromium"))
@pytest.mark.parametrize("is_hostile", [False, True])
async def test_a_host_shows_the_report_and_nothing_of_it_runs(
    tmp_path: Path, is_hostile: bool
) -> None:
    playwright = pytest.importorskip("playwright.async_api", reason=reason("playwright"))
    async with client(tmp_path) as mcp:
        result = await mcp.call_tool("create_table", {"table": TABLE})
        assert result.meta
        report = await page_of(mcp, result.meta["artificer/report"])
    called: list[object] = []
    evil = await asyncio.start_server(lambda *_: called.append(_), "127.0.0.1", 0)
    if is_hostile:  # as if the report's own markup could be broken
        address = f"http://127.0.0.1:{evil.sockets[0].getsockname()[1]}/"
        beacon = f'{HOSTILE}<img src="{address}"><link rel="stylesheet" href="{address}">'
        report = report.replace("<body>", f"<body>{beacon}")
        assert beacon in report
    quoted = [json.dumps(text).replace("</", "<\\/") for text in (report, app_page())]
    async with playwright.async_playwright() as browsers:
        browser = await browsers.chromium.launch(
            executable_path=browser_program(), args=["--no-sandbox"]
        )
        page = await browser.new_page()
        await page.set_content(HOST % tuple(quoted))
        shown = page.frame_locator("iframe")
        await shown.locator("table").first.wait_for()
        await page.wait_for_function("log.includes('ui/notifications/size-changed')")
        frame = page.frames[1]
        assert HOSTILE in await frame.locator("table").first.inner_text()
        assert await frame.title() != "run"
        await browser.close()
    evil.close()
    assert called == []
