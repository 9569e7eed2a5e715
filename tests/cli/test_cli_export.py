"""Files of a run: the formats, what goes together, what is refused, and what is missing."""

from __future__ import annotations

import asyncio
import json
import sys
import zipfile
from collections.abc import AsyncIterator

import pytest
from cli_kit import Shell, Terminal
from test_cli_inspect import finished, stalled

from artificer import World, load_config
from artificer.cli.commands.recordings import ARTIFACT_FORMATS, REPORT_FORMATS
from artificer.render.export.forms import ARTIFACT_FORMS, REPORT_FORMS
from artificer.values.canon import digest_of
from needs import needs

pytestmark = [
    pytest.mark.req("export-command"),
    needs("vl_convert", "docx", "weasyprint", "xlsxwriter"),
]


@pytest.fixture
async def world(shell: Shell) -> AsyncIterator[World]:
    async with World.open(load_config(home=shell.home, project="test")) as opened:
        yield opened


def test_the_command_knows_every_form() -> None:
    assert tuple(REPORT_FORMS) == REPORT_FORMATS
    assert tuple(ARTIFACT_FORMS) == ARTIFACT_FORMATS


async def test_a_report_is_written_in_every_format(shell: Shell, world: World) -> None:
    run = await finished(world)
    for form in REPORT_FORMATS:
        made = await shell.run("export", run, "--format", form)
        assert (made.code, made.out) == (0, f"{run}.{form}\n")
        said = (await shell.run("export", run, "--format", form, "-o", "a/r", "--json")).json()
        data = (shell.cwd / "a" / "r").read_bytes()
        assert (shell.cwd / f"{run}.{form}").stat().st_size > 100
        assert (said["format"], said["file"], said["bytes"]) == (form, "a/r", len(data))
        assert said["digest"] == digest_of(data)
    assert (shell.cwd / "a" / "r.files" / "chart" / "c.svg").exists()
    with zipfile.ZipFile(shell.cwd / f"{run}.zip") as archive:
        assert "artifacts/chart/c.csv" in archive.namelist()


async def test_an_artifact_is_written_in_its_formats(shell: Shell, world: World) -> None:
    run = await finished(world)
    for form in ("csv", "xlsx", "svg", "png", "json"):
        made = await shell.run("export", run, "--artifact", "c", "--format", form)
        assert (made.code, made.out) == (0, f"c.{form}\n")
    text = await shell.run("export", run, "--artifact", "file:x", "--format", "csv")
    assert text.code == 3
    assert "has no artifact 'file:x'" in text.err
    assert "It has: c." in text.err
    nothing = await shell.run("export", run, "--artifact", "c", "--format", "txt")
    assert nothing.code == 3
    assert "csv, xlsx, svg, png, json" in nothing.err


async def test_what_does_not_go_together_is_refused(shell: Shell, world: World) -> None:
    run = await finished(world)
    for words, hint in (
        (("--format", "png"), "recording, pdf"),
        (("--artifact", "c"), "csv, xlsx"),
        (("--artifact", "c", "--format", "pdf"), "csv, xlsx"),
        (("--format", "html", "-o", "-", "--json"), "--out"),
    ):
        refused = await shell.run("export", run, *words)
        assert refused.code == 2
        assert hint in refused.err
    early = await shell.run("export", await stalled(world), "--format", "pdf")
    assert early.code == 3
    assert "not delivered anything yet" in early.err


async def test_stdout_gets_the_bytes_and_a_terminal_never_binary_ones(
    shell: Shell, world: World
) -> None:
    run = await finished(world)
    piped = await shell.start("export", run, "--format", "pdf", "-o", "-")
    assert (await piped.communicate())[0].startswith(b"%PDF-1.4")
    screen = Terminal()
    for words in (("--format", "pdf"), (), ("--artifact", "c", "--format", "png")):
        side = screen.slave
        process = await shell.start("export", run, *words, "-o", "-", stdout=side, stderr=side)
        assert await process.wait() == 2
    shown = await shell.start("export", run, "--format", "md", "-o", "-", stdout=screen.slave)
    assert await shown.wait() == 0
    await screen.until("# Chart")
    assert "PDF-" not in screen.seen
    assert screen.seen.count("A terminal cannot show") == 3
    screen.close()


BLOCKED = """
import asyncio, sys
for name in ("weasyprint", "docx", "xlsxwriter"):
    sys.modules[name] = None
from artificer.cli.main import perform
for words in (["--format", "pdf"], ["--format", "docx"], ["--artifact", "c", "--format", "xlsx"]):
    print(perform(["--home", sys.argv[1], "--project", "test", "export", "last", *words]))
"""


async def test_a_missing_converter_is_named_with_its_extra(shell: Shell, world: World) -> None:
    await finished(world)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", BLOCKED, str(shell.home)),
        cwd=shell.cwd,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert out.split() == [b"3", b"3", b"3"]
    for extra in ("pdf", "docx", "xlsx"):
        assert f"pip install 'artificer[{extra}]'" in err.decode()
    assert not list(shell.cwd.glob("*.*"))


@pytest.mark.req("export-forms")
async def test_the_json_is_the_deliverable(shell: Shell, world: World) -> None:
    run = await finished(world)
    shown = await shell.start("export", run, "--format", "json", "-o", "-")
    delivered = json.loads((await shown.communicate())[0])
    assert delivered["status"] == "completed"
    assert delivered["narrative"] == "# Chart\n\n{{artifact:chart:c}}"
    (chart,) = delivered["artifacts"]
    assert chart["payload"]["series"] == [{"name": "n", "values": [1]}]
    assert delivered["provenance"]["run"] == run
