"""Hostile runs in a real browser: nothing runs, nothing is fetched or sent, nothing is imitated."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hostile_runs import MARK, collecting, hostile
from studio_kit import Studio, entered

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.core.policy import Policy, Rule
from artificer.providers.scripted import ScriptedProvider, call, reply
from artificer.world import World
from sampling import EXPLORE, SEED

OF_A_KIND = 2 if EXPLORE else 1
"""Pages that are opened of those whose addresses differ only in a number, drawn by each commit."""

MOST = 200
"""Pages that are opened at most: more would be links without an end."""

FILES = re.compile(r"/(export|api|data)(/|$|\?)|^[^?]*/runs/([^/]+/report|other/)")
"""Addresses of files, which a browser saves."""

LINKS = "[...document.querySelectorAll('a[href]:not([download])')].map((a) => a.href)"
SHOWN = f"""(() => {{
    const studio = location.origin, found = [];
    const unseen = /[\\u200b\\u202a-\\u202e\\u2066-\\u2069\\u3164\\uffa0]/;
    const every = (words) => [...document.querySelectorAll(words)];
    if (window.evil) found.push('script ran: ' + window.evil);
    for (const one of every('script')) if (!one.src.startsWith(studio + '/static/'))
        found.push(one.outerHTML);
    for (const one of every('base, object, embed, style, meta[http-equiv], [onload], [onerror]'))
        found.push(one.outerHTML);
    for (const one of every('[src], link'))
        if (!(one.src ?? one.href).startsWith(studio) && !one.src?.startsWith('data:image/'))
            found.push(one.outerHTML);
    for (const one of every('a[href]')) if (!one.href.startsWith(studio + '/'))
        found.push(one.outerHTML);
    for (const one of every('form')) {{
        const ours = one.method === 'get' || one.querySelector('input[name=form_key]')?.value;
        if (!one.action.startsWith(studio + '/') || !ours) found.push(one.outerHTML);
    }}
    for (const one of every('button, input[type=submit], nav, label, legend, .bar, .badge'))
        if (one.textContent.includes('{MARK}') && one.role !== 'checkbox'
            && !one.matches('.crumbs')) found.push(one.outerHTML);
    for (const one of every('body *')) for (const node of one.childNodes)
        if (node.nodeType === 3 && !one.closest('textarea, svg')
            && unseen.test(node.data)) found.push(one.outerHTML);
    if (unseen.test(document.title)) found.push(document.title);
    return found.map((text) => text.slice(0, 300));
}})()"""
"""Everything on a page that a hostile text has brought about."""


IN_REPORT = """[...document.querySelectorAll(
    'script, iframe, object, embed, form, button, link, base, [onload], [onerror], [ping],' +
    '[href^="javascript:" i]')].map((one) => one.outerHTML).concat(window.evil ?? [])"""
"""Everything in a report that could act or imitate."""


async def standing(world: World) -> dict[str, int]:
    """Return each run with the number of its records."""
    return {run: (await world.get(run)).events[-1].seq for run in await world.archive.runs()}


def pattern(address: str) -> str:
    """Return what an address has in common with those of the same view and run."""
    parts = urlsplit(unquote(address))
    path = re.sub(r"/(records|sources|tree|versions)/[^/]+", r"/\1/…", parts.path)
    return f"{path}?{re.sub(r'=[^&]*', '=…', parts.query)}"


@pytest.mark.browser
@pytest.mark.req("studio-hostile")
async def test_no_view_of_hostile_runs_acts(served: Studio, page: Any) -> None:
    world, asked = served.world, list[str]()
    async with collecting() as collector:
        await hostile(world, collector.url)
        before = await standing(world)
        heard = {
            "request": lambda request: asked.append(request.url),
            "dialog": lambda dialog: asked.append(f"dialog {dialog.message}"),
        }
        for event, hear in heard.items():
            page.on(event, hear)
        await entered(page, served)
        seen = await crawl(page, served)
        for run in before:
            await page.goto(f"{served.url}/runs/{run}/report")
            assert await page.evaluate(IN_REPORT) == []
        assert collector.heard == []
    for event, hear in heard.items():
        page.remove_listener(event, hear)
    elsewhere = [url for url in asked if not url.startswith((served.url, "data:", "about:"))]
    assert elsewhere == []
    assert await standing(world) == before
    for view in ("", "/records", "/sources", "/tree", "/replay", "/compare"):
        assert f"/runs/made{view}?" in seen
    assert {"/?", "/inbox?", "/search?", "/search?q=…", "/runs/asks?", "/runs/failed?"} <= set(seen)


async def crawl(page: Any, studio: Studio) -> Counter[str]:
    """Open what links lead to, some of each kind, and look at each page."""
    left = [f"{studio.url}/", f"{studio.url}/search?q={MARK}", f"{studio.url}/search?q=evil"]
    met, seen, chance = set(left), Counter[str](), Random(f"{SEED} hostile views")
    left.append(f"{studio.url}/compare?run=made&run=other")
    while left:
        address = left.pop(chance.randrange(len(left)))
        if seen[pattern(address)] >= OF_A_KIND:
            continue
        seen[pattern(address)] += 1
        assert seen.total() <= MOST
        await page.goto(address)
        assert await page.evaluate(SHOWN) == [], address
        for found in await page.evaluate(LINKS):
            link = found.partition("#")[0]
            if link not in met and not FILES.search(link):
                met.add(link)
                left.append(link)
    return seen


@pytest.mark.browser
@pytest.mark.req("studio-hostile")
@pytest.mark.parametrize(
    "cover",
    ["\xa0" * 9_000, "\u0300\u0316" * 40, "\u0628" + "\u064e\u0650\u200d" * 40, "\u3164" * 900],
    ids=["spaces", "marks", "joined marks", "fillers"],
)
async def test_no_argument_hides_another_one(served: Studio, page: Any, cover: str) -> None:
    @tool
    def send(note: str, path: str) -> str:
        """Send a file."""
        raise AssertionError

    policy = Policy(rules=(Rule(tool="send", decision="ask", reason="It leaves."),))
    model = ScriptedProvider([reply(call("send", note=f"Hello{cover}", path="/etc/shadow"))])
    await served.world.run("Go.", Agent(model, kind="chat", tools=[send], policy=policy))
    await entered(page, served)
    await page.goto(f"{served.url}/inbox")
    arguments = page.get_by_label("Arguments")
    assert await arguments.evaluate("(one) => one.scrollHeight <= one.clientHeight")
    shown = await arguments.inner_text()
    assert "/etc/shadow" in shown
    assert re.search("([\u0300-\u036f\u064e\u0650]\u200d?){5}|\u3164", shown) is None


@pytest.mark.browser
@pytest.mark.req("studio-hostile")
async def test_what_imitates_a_question_is_not_one(served: Studio, page: Any) -> None:
    await hostile(served.world, "http://127.0.0.1:9")
    await entered(page, served)
    await page.goto(f"{served.url}/inbox")
    for word in ("Approve", "Deny"):
        buttons = page.get_by_role("button", name=word)
        assert await buttons.count() == 1
        assert await buttons.locator("xpath=ancestor::article[@class='question']").count() == 1
    arguments = page.get_by_label("Arguments")
    assert MARK in await arguments.inner_text()
    await page.goto(f"{served.url}/runs/made")
    assert await page.get_by_role("button", name="Approve").count() == 0
    rights = await page.locator("iframe").get_attribute("sandbox")
    assert set(rights.split()) <= {"allow-popups", "allow-downloads"}
