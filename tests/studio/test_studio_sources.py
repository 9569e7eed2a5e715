"""From the parts of a report back to the records that they follow from."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest
from studio_kit import Studio, entered, expect

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.core.record import EventLine
from artificer.errors import NotFoundError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.studio.provenance import MAX_PLACES, CallTrace, Traces, same_value
from artificer.world import World

EVIL = "\u202egnp<script>alert(1)</script>"
ROWS = [
    {"name": "logs", "bytes": 1.5},
    {"name": "video", "bytes": 7341},
    {"name": EVIL, "bytes": 3},
]
TEXT = (
    "# Disks\n\n{{artifact:chart:disk}}\n\nIn all {{artifact:value:total}} <b>were</b> used."
    "\n\n{{artifact:table:typed}}"
)


@tool(effect="pure")
def disks() -> dict[str, Any]:
    """Measure the disks."""
    return {"items": ROWS, "total": 7345.5}


async def reported(world: World) -> None:
    """Make a report of bound artifacts, and of a table that the model typed."""
    chart = {"call": "disks#1", "rows": "/items", "label": "name", "values": ["bytes"]}
    script = [
        reply(call("disks")),
        reply(
            call("create_bar_chart", id="disk", title=EVIL, data=chart),
            call("create_value", id="total", data={"call": "disks#1", "at": "/total"}),
            call(
                "create_table",
                table={
                    "kind": "table",
                    "id": "typed",
                    "columns": ["n", "s"],
                    "rows": [[7341, EVIL]],
                },
            ),
        ),
        say(TEXT),
    ]
    run = await world.run("Disks?", Agent(ScriptedProvider(script), tools=[disks]), run_id="r")
    assert run.status == "completed", run.state.findings


@pytest.mark.browser
@pytest.mark.req("studio-provenance")
async def test_a_figure_leads_to_its_binding_call_response_and_receipt(
    served: Studio, page: Any
) -> None:
    await reported(served.world)
    await entered(page, served)
    await page.goto(f"{served.url}/runs/r")
    await page.get_by_role("link", name="Sources").click()
    figure = page.locator("#chart-disk")
    await figure.locator("summary").first.click()
    await expect(figure).to_contain_text(re.compile("Data: disks, call 1[:,] "))
    bound = figure.locator("li", has_text="Bound to")
    receipt = bound.locator("dd").nth(2).get_by_role("link")
    await receipt.click()
    await expect(page.get_by_role("heading", name="ToolReturned event")).to_be_visible()
    await expect(page.get_by_text("By", exact=True)).to_be_visible()
    await page.goto(f"{served.url}/runs/r/sources")
    await page.locator("#chart-disk summary").first.click()
    await page.locator("#chart-disk").get_by_role("link", name="Look at its cells").click()
    await page.get_by_role("link", name="7341", exact=True).click()
    cell = page.locator("#cell")
    await expect(cell).to_contain_text("It comes from the binding.")
    await expect(cell).to_contain_text("disks#1 at /items/1/bytes")


@pytest.mark.req("studio-provenance")
async def test_what_was_typed_is_said_to_be_typed(
    served: Studio, client: httpx.AsyncClient
) -> None:
    await reported(served.world)
    text = (await client.get("/runs/r/sources")).text
    assert "Numbers typed by the model." in text
    assert text.count("from disks#1") == 2
    assert text.count("<dt>Response</dt><dd><a href=") == text.count("<dt>Response</dt>") == 6
    assert "<script>alert" not in text and "<b>were" not in text and "\u202e" not in text
    lines = (await served.world.archive.history("r")).lines
    last = [n.seq for n in lines if isinstance(n, EventLine) and n.event.type == "ModelResponded"]
    sentence = text.partition("In all")[2].partition("</li>")[0]
    assert (
        f"/runs/r/records/{last[-1]}" in sentence
        and 'cites <a href="/runs/r/artifacts/value%3Atotal">' in sentence
    )
    listed = text.partition('class="sentences"')[2].partition("</ol>")[0]
    assert "disk" not in listed  # a paragraph that only cites says nothing
    cell = (await client.get("/runs/r/sources/table:typed?row=1&column=1")).text
    assert "It has no binding: the model typed it." in cell
    assert "disks#1" in cell and "/items/1/bytes" in cell
    cell = (await client.get("/runs/r/sources/table:typed?row=1&column=2")).text
    assert "<script>alert" not in cell and "\u202e" not in cell
    for wrong in ("?row=9&column=1", "?row=x&column=-1", "?row=0&column=0", "?row=" + "9" * 5_000):
        answer = await client.get(f"/runs/r/sources/table:typed{wrong}")
        assert answer.status_code == 200 and 'id="cell"' not in answer.text
    assert (await client.get("/runs/r/sources/table:other")).status_code == 404
    assert (await client.get("/runs/r/sources/chart:typed")).status_code == 404


@pytest.mark.req("studio-provenance")
async def test_an_archive_gives_the_data_of_its_calls(served: Studio) -> None:
    await reported(served.world)
    archive = served.world.archive
    assert json.loads(await archive.data("r", "disks#1"))["total"] == 7345.5
    with pytest.raises(NotFoundError, match="disks#2"):
        await archive.data("r", "disks#2")


@pytest.mark.req("studio-provenance")
def test_looking_for_a_value_is_bounded() -> None:
    trace = CallTrace("t", "", "t#1", None, 1, 2, "ok", 0, "", "")
    found = Traces({"c": trace})
    deep = b'{"a":' * 200 + b"1" + b"}" * 200
    assert [place.pointer for place in same_value(found, {"t#1": deep}, 1)] == ["/a" * 200]
    many = json.dumps([1] * 500_000).encode()
    assert len(same_value(found, {"t#1": many}, 1)) == MAX_PLACES
    assert same_value(found, {"t#1": many}, 2) == []
    assert same_value(found, {"t#1": b"{not json"}, 1) == []
