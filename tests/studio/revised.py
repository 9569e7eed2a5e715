"""A run whose report, table, chart, file and checklist a follow-up has revised."""

from __future__ import annotations

from typing import Any

from artificer import Agent, File, Image
from artificer.core.signals import FollowUp
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runs import Run
from artificer.values.base import JsonObject
from artificer.world import World

EVIL = "\u202egnp<script>alert(1)</script>"

DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415478da63"
    "60f8cf0000030101003c1f5b0e0000000049454e44ae426082"
)

FILES = {
    "people.csv": b"name,n\nada,3\ngrace,12\n=cmd(),1\n<script>alert(1)</script>,2\n",
    "book.pdf": b"%PDF-1.4\n\x00a book",
    "dot.png": DOT,
    "a.py": b"def f():\n    return '<script>alert(1)</script>'\n",
    "page.html": b"<script>alert(1)</script>\n",
}

TEXT = (
    "# Cities\n\nRome is the largest of the cities that we looked at, by far.\n\n"
    "{{artifact:table:cities}}\n\n{{artifact:chart:people}}\n\n{{artifact:svg:map}}\n\n"
    "{{artifact:file:notes/a.md}}\n\n{{artifact:checklist:todo}}\n\n{{artifact:list:names}}\n\n"
)


def table(columns: list[str], rows: list[list[Any]], **more: Any) -> JsonObject:
    grid = {"kind": "table", "id": "cities", "title": EVIL, "columns": columns, "rows": rows}
    return call("create_table", table=grid, **more)


def chart(values: list[int], **more: Any) -> JsonObject:
    series = [{"name": "2023", "values": values}]
    labels = ["Rome", "Oslo", "Paris"]
    return call(
        "create_bar_chart", id="people", title="People", labels=labels, series=series, **more
    )


def checklist(*items: tuple[str, str], **more: Any) -> JsonObject:
    listed = [{"id": name, "label": label} for name, label in items]
    made = {"kind": "checklist", "id": "todo", "title": "To do", "items": listed}
    return call("create_checklist", checklist=made, **more)


def file(text: str, **more: Any) -> JsonObject:
    return call("create_file", name="notes/a.md", content=text, **more)


def drawing(words: str, **more: Any) -> JsonObject:
    shapes = f'<rect width="9" height="9"/><text x="1" y="5">{words}</text>'
    content = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 9">{shapes}</svg>'
    return call("create_svg", svg={"id": "map", "title": "Map", "content": content}, **more)


ROME, OSLO = ["Rome", 2_873_000, "0753-04-21"], ["Oslo", 709_000, "1040-01-01"]
LODZ, CMD = ["Łódź", None, "1423-07-29"], ["=cmd()", 12, "1999-01-01"]

FIRST = reply(
    table(["City", "People", "Founded"], [ROME, OSLO, LODZ, CMD]),
    chart([28, 7, 21]),
    drawing("Old"),
    file("# Notes\n\nfirst\nsecond\n"),
    checklist(("a", "Alpha"), ("b", "Beta")),
    call("create_list", list={"kind": "list", "id": "names", "items": ["One", EVIL]}),
)
SECOND = reply(
    table(
        ["City", "People", "Founded"],
        [["Rome", 2_873_494, "0753-04-21"], OSLO, ["Paris", 2_102_650, "0250-01-01"], CMD],
        replace=True,
    ),
    chart([29, 7, 21], replace=True),
    drawing("New", replace=True),
    file("# Notes\n\nfirst\nthird\n", replace=True),
    call("withdraw_artifact", kind="list", id="names"),
)


async def revised(world: World) -> Run:
    """Make the run ``r``, and revise it."""
    last = TEXT.replace("{{artifact:list:names}}\n\n", "").replace("by far", "by very far")
    model = ScriptedProvider([FIRST, say(f"{TEXT}The end."), SECOND, say(f"{last}A new one.")])
    kinds = {"dot.png": Image}
    attached = [kinds.get(n, File).from_bytes(data, name=n) for n, data in FILES.items()]
    agent = Agent(model)
    first = await world.run(["Compare three cities.", *attached], agent, run_id="r")
    assert first.status == "completed", first.state.findings
    await world.send("r", FollowUp(by="Ada", text=f"Use the newest numbers {EVIL}"))
    run = await world.resume("r", agent)
    assert run.status == "completed", run.state.findings
    return run
