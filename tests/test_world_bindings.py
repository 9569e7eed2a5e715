"""Bound figures in a whole world: in files, for programs, and without secrets."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pypdf
import pytest
from click.testing import CliRunner

from artificer.agent import Agent
from artificer.backends.function.decorator import tool
from artificer.cli.main import cli
from artificer.config import Config
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runs import Run
from artificer.world import World
from needs import needs

SECRET = "sk-live-51Hq8Zr7Tn3Vb9Kd2"
TEXT = "{{artifact:chart:disk}}\n\n{{artifact:table:all}}\n\nIn all {{artifact:value:total}}."
NOTE = "Data: disk_usage, call 1: top 2 by bytes; column bytes shown as “Size”; bytes by name"


@tool
def disk_usage() -> dict[str, Any]:
    """Say how much each folder holds, in bytes."""
    items = [{"name": "logs", "bytes": 1204}, {"name": "mail", "bytes": 88310}]
    return {"items": [*items, {"name": f"token {SECRET}", "bytes": 7341002}], "total": 7430516}


def bound(data: dict[str, Any]) -> dict[str, Any]:
    return {"call": "disk_usage#1", "rows": "/items", **data}


def model() -> ScriptedProvider:
    top = {"n": 2, "by": "bytes"}
    shown = [{"column": "bytes", "name": "Size"}]
    calls = reply(
        call(
            "create_bar_chart",
            id="disk",
            title="Folders",
            data=bound({"label": "name", "values": shown, "top": top}),
        ),
        call("create_table", table={"kind": "table", "id": "all", "data": bound({})}),
        call("create_value", id="total", data={"call": "disk_usage#1", "at": "/total"}),
    )
    return ScriptedProvider([reply(call("disk_usage")), calls, say(TEXT)])


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A world in a folder; the environment holds a well-known secret."""
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    monkeypatch.setenv("ARTIFICER_HOME", str(tmp_path))
    return Config(home=tmp_path, project="p", durability="process")


async def made(config: Config) -> Run[str]:
    async with World.open(config) as world:
        agent = Agent(kind="deliver", model=model(), tools=[disk_usage])
        return await world.run("Where is the space?", agent)


@pytest.mark.req("binding-secret")
@needs("vl_convert", "docx", "weasyprint", "xlsxwriter")
async def test_no_secret_of_a_result_is_in_data_figures_or_files(
    config: Config, tmp_path: Path
) -> None:
    run = await made(config)
    assert run.status == "completed", run.markdown
    chart = run.artifacts["disk"].payload
    assert SECRET not in json.dumps(chart) and chart["series"][0]["values"] == [7341002, 88310]
    files = [run.html, run.markdown]
    for form in ("html", "md", "json", "pdf", "docx", "zip"):
        for name, data in run.export(form).items():
            files.append(text_of(f"{name}.{form}" if name == "report" else name, data))
    for name in ("disk", "all"):
        made_of = run.artifacts[name]
        files += [text_of("x.xlsx", made_of.export("xlsx")), made_of.csv()]
    assert not [file[:80] for file in files if SECRET in file]
    assert SECRET.encode() not in below(tmp_path)


def below(folder: Path) -> bytes:
    """Every byte of every file in a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def text_of(name: str, data: bytes) -> str:
    """All text of a file."""
    match name.rpartition(".")[2]:
        case "pdf":
            return "".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages)
        case "docx" | "xlsx" | "zip":
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                inner = [text_of(n, packed.read(n)) for n in packed.namelist()]
            return "\n".join(inner)
        case _:
            return data.decode("utf-8", "replace")


def squeezed(text: str) -> str:
    """Text without white space: lines are broken where they do not fit."""
    return "".join(text.split())


@pytest.mark.req("binding-note")
@needs("vl_convert", "docx", "weasyprint", "xlsxwriter")
async def test_every_file_says_where_its_numbers_come_from(config: Config) -> None:
    run = await made(config)
    whole = {form: run.export(form) for form in ("html", "md", "pdf")}
    texts = [text_of(f"report.{form}", files["report"]) for form, files in whole.items()]
    word = docx.Document(io.BytesIO(next(iter(run.export("docx").values()))))
    texts.append("\n".join(paragraph.text for paragraph in word.paragraphs))
    pages = [squeezed(text.replace("\\", "")) for text in texts]
    pages = [text for text in pages if "Data:disk" in text]
    assert len(pages) == 4
    for text in pages:
        assert squeezed(NOTE) in text
        assert "7430516" in text
        assert squeezed("words of the model.") in text
    book = openpyxl.load_workbook(io.BytesIO(run.artifacts["disk"].export("xlsx")))
    assert book["Source"]["A1"].value.startswith(NOTE)


@pytest.mark.req("binding-library")
async def test_a_program_reads_binding_and_source(config: Config) -> None:
    run = await made(config)
    chart = run.artifacts["disk"]
    assert chart.binding and chart.binding["call"] == "disk_usage#1"
    assert chart.binding["digest"] == run.state.sources[0].digest
    assert chart.source.startswith(NOTE)
    assert run.artifacts["all"].binding and run.artifacts["total"].binding


@pytest.mark.req("binding-shown")
def test_show_and_explain_name_bindings(config: Config) -> None:
    run = asyncio.run(made(config))
    for command in ("show", "explain"):
        where = ["--home", str(config.home), "--project", "p"]
        said = CliRunner().invoke(cli, [*where, command, run.id], standalone_mode=False).output
        assert any("chart:disk" in line and "disk_usage#1" in line for line in said.splitlines())
