"""The files of a run, as the studio sends them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from studio_kit import Studio, http_client

from artificer import Agent
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.render.export.forms import forms_of
from artificer.studio.downloads import FORMS

sys.path.insert(0, str(Path(__file__).parents[1] / "journals"))

from ticked_runs import TEXT, checklist

pytestmark = pytest.mark.req("studio-files")

HTML = "<script>alert(1)</script>"


async def test_every_link_is_a_file_that_is_saved(served: Studio) -> None:
    rect = '<rect width="9" height="9"/>'
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">{rect}</svg>'
    file = call("create_file", name="notes/a.md", content=HTML)
    svg = call("create_svg", svg={"id": "s", "content": drawing})
    text = TEXT + "\n{{artifact:file:notes/a.md}}\n\n{{artifact:svg:s}}\n"
    model = ScriptedProvider([checklist(("a", "Alpha")), reply(file, svg), say(text)])
    run = await served.world.run("Go.", Agent(model))
    async with http_client(served.url) as client:
        await client.get("/", params={"key": served.key})
        page = (await client.get(f"/runs/{run.id}")).text
        links = re.findall(r'href="(/runs/[^"]+/(?:export|artifacts)/[^"]+/?\w+)" download', page)
        assert len(links) > 6
        for link in (each for each in links if not each.endswith(("pdf", "docx", "xlsx", "png"))):
            answer = await client.get(link)
            assert answer.status_code == 200, link
            assert answer.headers["content-disposition"].startswith("attachment; filename*=")
            assert answer.headers["content-security-policy"].startswith(
                "sandbox; default-src 'none';"
            )
            assert answer.headers["x-content-type-options"] == "nosniff"
        for path in ("export/exe", "artifacts/file:x/txt", "artifacts/checklist:todo/exe"):
            assert (await client.get(f"/runs/{run.id}/{path}")).status_code == 404
        for kind in ("checklist", "svg"):
            made = next(each for each in run.artifacts.values() if each.kind == kind)
            assert FORMS[made.kind] == forms_of(made._typed())
