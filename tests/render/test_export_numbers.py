"""Every number that a report shows can be read back from each of its forms."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import zipfile
from collections import Counter

import docx
import openpyxl
import pypdf
import pytest
from export_sample import (
    SAMPLES,
    as_read,
    as_shown,
    exported,
    grids,
    sample,
    sample_files,
    sample_in,
    written,
)

from artificer.render.export.exported import Exported
from artificer.render.export.forms import artifact_bytes
from artificer.render.export.single import forms_of, grid_of
from artificer.render.text import clean
from needs import needs

pytestmark = [
    pytest.mark.req("export-numbers"),
    pytest.mark.xdist_group("exports"),
    needs("vl_convert"),
]


@pytest.fixture(params=SAMPLES, scope="module")
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def source(name: str) -> Exported:
    return sample(name)


def plain(text: str) -> str:
    """A text without any white space: lines are broken where they do not fit."""
    return re.sub(r"\s+", "", text)


@needs("docx")
def test_word_has_every_table_cell_by_cell(name: str, source: Exported) -> None:
    document = docx.Document(io.BytesIO(sample_in(name, "docx")))
    found = [
        [[as_read(cell.text) for cell in row.cells] for row in table.rows]
        for table in document.tables
    ]
    for grid in grids(source):
        assert as_shown(grid) in found, grid.columns


@needs("weasyprint")
def test_pdf_has_every_row(name: str, source: Exported) -> None:
    reader = pypdf.PdfReader(io.BytesIO(sample_in(name, "pdf")))
    text = "\n".join(page.extract_text() for page in reader.pages)
    words = Counter(as_read(word) for word in text.split())
    wanted = Counter(cell for grid in grids(source) for row in as_shown(grid)[1:] for cell in row)
    numbers = {cell: count for cell, count in wanted.items() if isinstance(cell, float)}
    assert {cell: words[cell] for cell in numbers if words[cell] < numbers[cell]} == {}
    together = plain(text)
    texts = {plain(cell) for cell in wanted if isinstance(cell, str) and cell.isascii()}
    assert {cell for cell in texts if cell not in together} == set()


@needs("weasyprint")
def test_no_number_is_broken_where_a_page_has_room_for_it() -> None:
    rows = [[10**15 + n + m for m in range(8)] for n in range(3)]
    table = {"kind": "table", "id": "t", "columns": list("abcdefgh"), "rows": rows}
    reader = pypdf.PdfReader(
        io.BytesIO(
            written(exported("{{artifact:table:t}}", [("create_table", {"table": table})]), "pdf")
        )
    )
    words = "".join(page.extract_text() for page in reader.pages).split()
    assert {f"{cell:,}" for row in rows for cell in row} <= set(words)


def test_markdown_has_every_table_cell_by_cell(name: str, source: Exported) -> None:
    text, *_ = sample_files(name, "md").values()
    plain_text = re.sub(r"\\(.)", r"\1", text.decode()).replace("&lt;", "<")
    lines = [
        [as_read(cell) for cell in line.strip("|").split(" | ")]
        for line in plain_text.splitlines()
        if line.startswith("| ")
    ]
    for grid in grids(source):
        for row in as_shown(grid):
            piped = " | ".join(map(str, row)).split(" | ")  # a cell may hold a pipe
            assert [as_read(cell) for cell in piped] in lines, row


@needs("xlsxwriter")
def test_a_workbook_has_every_cell_with_its_type(source: Exported) -> None:
    for (kind, name), artifact in source.report.artifacts.items():
        grid = grid_of(artifact)
        if grid is None:
            continue
        data = artifact_bytes(artifact, source.payloads[kind, name], "xlsx")
        sheet = openpyxl.load_workbook(io.BytesIO(data)).active
        assert sheet is not None
        found = [tuple(row) for row in sheet.iter_rows(values_only=True)]
        expected = [tuple(map(clean, grid.columns)), *grid.rows]
        assert found == expected
        assert [[type(c) is bool for c in row] for row in found] == [
            [type(c) is bool for c in row] for row in expected
        ]


def test_csv_and_json_have_every_cell(name: str, source: Exported) -> None:
    packed = zipfile.ZipFile(io.BytesIO(sample_in(name, "zip")))
    delivered = json.loads(sample_in(name, "json"))
    made = {(item["kind"], item["id"]): item["payload"] for item in delivered["artifacts"]}
    assert made.keys() == source.report.artifacts.keys()
    for key, artifact in source.report.artifacts.items():
        if key[0] != "svg":
            assert made[key] == source.payloads[key]
        if "csv" in forms_of(artifact):
            rows = list(
                csv.reader(io.StringIO(packed.read(f"artifacts/{key[0]}/{key[1]}.csv").decode()))
            )
            grid = grid_of(artifact)
            assert grid is not None
            for found, row in zip(rows[1:], grid.rows, strict=True):
                for text, cell in zip(found, row, strict=True):
                    if isinstance(cell, int | float) and not isinstance(cell, bool):
                        assert float(text) == cell


@needs("docx", "weasyprint")
def test_every_form_says_where_its_numbers_come_from() -> None:
    made = sample("realistic")
    notes = {f"Data: disk_usage, call {n}, unaltered" for n, _ in enumerate(made.report.artifacts)}
    sources = dict(zip(made.report.artifacts, sorted(notes), strict=True))
    notes -= {sources[key] for key in sources if key[0] in ("svg", "file")}  # no numbers
    source = Exported(dataclasses.replace(made.report, sources=sources), made.payloads)
    document = docx.Document(io.BytesIO(written(source, "docx")))
    assert notes <= {paragraph.text for paragraph in document.paragraphs}
    pages = pypdf.PdfReader(io.BytesIO(written(source, "pdf"))).pages
    text = plain("".join(page.extract_text() for page in pages))
    assert all(plain(note) in text for note in notes)
