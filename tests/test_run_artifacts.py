"""The artifacts of a run for a program: rows, pictures, files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from artificer import AuthorError, OperatorError, World
from artificer.agent import Agent
from artificer.errors import NotFoundError
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runs import Run
from needs import needs

pytestmark = [pytest.mark.req("run-artifacts"), needs("vl_convert", "weasyprint", "xlsxwriter")]

SERIES = [{"name": "Sold", "values": [1, 2.5]}]


async def made() -> Run[str]:
    calls = reply(
        call("create_bar_chart", id="sales", title="Sales", labels=["a", "b"], series=SERIES),
        call("create_list", list={"kind": "list", "id": "sales", "items": ["x"]}),
        call("create_file", name="notes/a.md", content="Text.\n"),
    )
    cites = "{{artifact:chart:sales}}\n\n{{artifact:list:sales}}\n\n{{artifact:file:notes/a.md}}"
    async with World.in_memory() as world:
        agent = Agent(model=ScriptedProvider([calls, say(cites)]), kind="deliver")
        return await agent.run("Draw.", world=world)


async def test_an_artifact_has_rows_pictures_and_files() -> None:
    run = await made()
    assert list(run.artifacts) == ["chart:sales", "list:sales", "notes/a.md"]
    assert "chart:sales: chart, list:sales: list, notes/a.md: file" in repr(run.artifacts)
    chart = run.artifacts["chart:sales"]
    assert chart.rows == ({"Category": "a", "Sold": 1}, {"Category": "b", "Sold": 2.5})
    assert chart.csv().splitlines()[1] == '"a","1.0"'
    assert chart.svg().startswith("<svg ") and chart.png().startswith(b"\x89PNG")
    assert chart.export("xlsx").startswith(b"PK")
    assert run.artifacts["file:notes/a.md"].export("txt") == b"Text.\n"
    with pytest.raises(OperatorError):
        run.artifacts["notes/a.md"].png()
    with pytest.raises(NotFoundError) as missing:
        run.artifacts.find("sale")
    assert "chart:sales" in str(missing.value.hint)


async def test_a_report_is_saved_in_a_format(tmp_path: Path) -> None:
    run = await made()
    path = run.save(tmp_path / "report.pdf", format="pdf")
    assert path.read_bytes().startswith(b"%PDF-1.4")
    markdown = run.save(tmp_path / "report.md", format="md")
    assert "](report.files/chart/sales.svg)" in markdown.read_text("utf-8")
    assert (tmp_path / "report.files" / "chart" / "sales.svg").exists()
    views = run.save(tmp_path / "folder")
    archive = zipfile.ZipFile(run.save(tmp_path / "all.zip", format="zip"))
    files = {path for path in (tmp_path / "folder").rglob("*") if path.is_file()}
    assert {views.html, views.markdown, views.json, *views.artifacts} == files
    for path in files:  # the folder is the archive
        name = path.relative_to(tmp_path / "folder").as_posix()
        assert archive.read(name) == path.read_bytes()
    assert len(files) == len(archive.namelist())
    assert next(iter(run.export("json").values())).startswith(b"{")
    with pytest.raises(AuthorError):
        run.save()  # type: ignore[call-overload]
