"""The forms themselves: what a program that opens one finds, and that it can be opened."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import docx
import pypdf
import pytest
from docx.shared import Cm
from export_sample import SAMPLES, exported, grids, sample, sample_files, sample_in, written
from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject

from artificer.artifacts import catalog
from artificer.errors import InvariantError, OperatorError
from artificer.render.charts.words import Grid
from artificer.render.export.exported import Exported
from artificer.render.export.forms import (
    ARTIFACT_FORMS,
    REPORT_FORMS,
    ReportFormat,
    artifact_bytes,
    forms_of,
    report_files,
)
from artificer.render.export.formula import linear
from artificer.render.export.tree import parse, text_of
from artificer.render.export.workbook import workbook
from artificer.report import write_files
from needs import needs
from sampling import one_of

pytestmark = [
    needs("vl_convert", "docx", "weasyprint", "xlsxwriter"),
    pytest.mark.xdist_group("exports"),  # they share what is exported
]

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


REPEATED = [
    (name, form)
    for form in REPORT_FORMS
    for name in one_of(tuple(SAMPLES), purpose=f"twice the same {form}")
]
"""The reports that are made twice: each commit draws one sample for each form."""


@pytest.fixture(scope="module")
def source() -> Exported:
    return sample("realistic")


@pytest.fixture(scope="module")
def pdf() -> pypdf.PdfReader:
    return pypdf.PdfReader(io.BytesIO(sample_in("realistic", "pdf")))


@pytest.fixture(scope="module")
def word() -> bytes:
    return sample_in("realistic", "docx")


def structure(node: object) -> list[DictionaryObject]:
    """The elements of a PDF's structure, in reading order."""
    if isinstance(node, IndirectObject):
        node = node.get_object()
    if isinstance(node, ArrayObject):
        return [found for child in node for found in structure(child)]
    if not isinstance(node, DictionaryObject):
        return []
    below = structure(node["/K"]) if "/K" in node else []
    return [node, *below] if "/S" in node else below


@pytest.mark.req("export-forms")
@pytest.mark.parametrize(("name", "form"), REPEATED)
def test_the_same_report_gives_the_same_bytes(form: ReportFormat, name: str) -> None:
    again = report_files(SAMPLES[name](), form, f"report.{form}")
    assert sample_files(name, form) == again


@pytest.mark.req("export-forms")
def test_every_form_of_every_artifact(source: Exported) -> None:
    starts = {
        "png": b"\x89PNG",
        "svg": b"<svg ",
        "xlsx": b"PK",
        "csv": b"\xef\xbb\xbf",
        "json": b"{",
    }
    for key, artifact in source.report.artifacts.items():
        for form in ARTIFACT_FORMS:
            if form in forms_of(artifact):
                data = artifact_bytes(artifact, source.payloads[key], form)
                assert data.startswith(starts.get(form, b""))
            else:
                with pytest.raises(OperatorError) as refused:
                    artifact_bytes(artifact, source.payloads[key], form)
                assert ", ".join(forms_of(artifact)) in str(refused.value.hint)


@pytest.mark.req("export-forms")
def test_markdown_has_its_pictures_next_to_it(source: Exported) -> None:
    files = report_files(source, "md", "my report (1).md")
    text = files.pop("my report (1).md").decode()
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert len(shown) == 7
    assert {path.replace("%20", " ").replace("%28", "(").replace("%29", ")") for path in shown} == {
        path for path in files if path.endswith(".svg")
    }
    assert "my report (1).files/files/notes/queries.md" in files


@pytest.mark.req("export-forms")
def test_the_archive_holds_page_markdown_json_and_every_artifact() -> None:
    archive = zipfile.ZipFile(io.BytesIO(sample_in("realistic", "zip")))
    names = archive.namelist()
    assert {"report.html", "report.md", "report.json"} < set(names)
    assert "artifacts/chart/latency.csv" in names
    assert "artifacts/chart/latency.svg" in names
    assert "artifacts/files/notes/queries.md" in names
    linked = re.findall(r"\]\((artifacts/[^)]+)\)", archive.read("report.md").decode())
    assert linked
    assert set(linked) <= set(names)
    delivered = json.loads(archive.read("report.json"))
    assert (delivered["format"], delivered["version"]) == ("artificer/deliverable", 1)


@pytest.mark.req("export-pdf")
class TestPdf:
    def test_it_says_that_it_is_accessible(self, pdf: pypdf.PdfReader) -> None:
        root = pdf.trailer["/Root"]
        assert root["/MarkInfo"]["/Marked"] == True  # noqa: E712  # an object of the library
        assert root["/Lang"] == "en"
        assert root["/ViewerPreferences"]["/DisplayDocTitle"] == True  # noqa: E712
        assert pdf.metadata is not None
        assert pdf.metadata.title == "Checkout latency, third quarter"
        assert b"<pdfuaid:part>1</pdfuaid:part>" in root["/Metadata"].get_object().get_data()

    def test_its_bookmarks_are_the_headings(self, pdf: pypdf.PdfReader) -> None:
        top, below = pdf.outline
        assert top["/Title"] == "Checkout latency, third quarter"
        titles = [item["/Title"] for item in below]
        assert titles == ["Where the time goes", "Regions", "What remains", "Data"]

    def test_everything_has_its_tag(self, pdf: pypdf.PdfReader, source: Exported) -> None:
        elements = structure(pdf.trailer["/Root"]["/StructTreeRoot"])
        tags = [str(element["/S"]) for element in elements]
        assert tags.count("/H1") == 1
        assert tags.count("/H2") == 4
        for heads in (e for e in elements if e["/S"] == "/TH"):
            assert "/Scope" in str(heads.get("/A", "")) or "/A" in heads
        figures = [element for element in elements if element["/S"] == "/Figure"]
        assert len(figures) == 7
        assert all(str(figure["/Alt"]).strip() for figure in figures)
        rows = sum(len(grid.rows) + 1 for grid in grids(source))
        assert tags.count("/TR") >= rows

    def test_every_page_is_tagged_and_every_font_embedded(self, pdf: pypdf.PdfReader) -> None:
        for page in pdf.pages:
            assert "/StructParents" in page
            for font in page["/Resources"].get("/Font", {}).values():
                inner = font.get_object()["/DescendantFonts"][0].get_object()
                descriptor = inner["/FontDescriptor"].get_object()
                assert any(name.startswith("/FontFile") for name in descriptor)


@pytest.mark.req("export-docx")
@pytest.mark.parametrize("year", [1975, 2150])
def test_a_clock_that_an_archive_cannot_have_is_named(
    monkeypatch: pytest.MonkeyPatch, year: int
) -> None:
    at = datetime(year, 6, 1, tzinfo=UTC).timestamp()
    monkeypatch.setattr(time, "time", lambda: at)
    with pytest.raises(OperatorError, match=f"clock of this machine says {year}: a Word file"):
        written(exported("Hello.", []), "docx")
    for form in ("pdf", "zip", "html"):
        assert report_files(exported("Hello.", []), form, "report")


@pytest.mark.req("export-docx")
class TestWord:
    def test_headings_captions_lists_and_links(self, word: bytes) -> None:
        document = docx.Document(io.BytesIO(word))
        styles = [(p.style.name, p.text) for p in document.paragraphs if p.style is not None]
        assert ("Heading 1", "Checkout latency, third quarter") in styles
        assert [text for name, text in styles if name == "Heading 2"] == [
            "Where the time goes",
            "Regions",
            "What remains",
            "Data",
        ]
        captions = [text for name, text in styles if name == "Caption"]
        assert "Figure 1. Checkout latency by week, milliseconds" in captions
        numbered = [text for name, text in styles if name == "List Number"]
        assert len(numbered) == 3
        links = {link.address for p in document.paragraphs for link in p.hyperlinks}
        assert "https://example.org/q3" in links
        assert document.core_properties.title == "Checkout latency, third quarter"

    def test_the_number_of_a_caption_is_a_field(self, word: bytes) -> None:
        root = ElementTree.fromstring(zipfile.ZipFile(io.BytesIO(word)).read("word/document.xml"))
        fields = [str(field.text).split() for field in root.iter(f"{WORD}instrText")]
        assert fields.count(["SEQ", "Figure", "\\*", "ARABIC"]) == 7
        assert fields.count(["SEQ", "Table", "\\*", "ARABIC"]) == 1

    def test_header_rows_repeat_and_pictures_are_described(self, word: bytes) -> None:
        text = zipfile.ZipFile(io.BytesIO(word)).read("word/document.xml").decode()
        assert text.count("<w:tblHeader/>") == text.count("<w:tbl>") == 7
        described = re.findall(r'<wp:docPr [^>]*descr="([^"]+)"', text)
        assert len(described) == 7
        assert any("Line chart of 12 categories" in words for words in described)

    def test_links_within_lead_to_bookmarks(self, word: bytes) -> None:
        root = ElementTree.fromstring(zipfile.ZipFile(io.BytesIO(word)).read("word/document.xml"))
        places = {mark.get(f"{WORD}name") for mark in root.iter(f"{WORD}bookmarkStart")}
        links = {link.get(f"{WORD}anchor") for link in root.iter(f"{WORD}hyperlink")} - {None}
        assert links
        assert links <= places


def notes_in(narrative: str) -> tuple[str, str]:
    """The document and the footnotes of a report in Word."""
    archive = zipfile.ZipFile(io.BytesIO(written(exported(narrative, []), "docx")))
    kept = "word/footnotes.xml" in archive.namelist()
    footnotes = archive.read("word/footnotes.xml").decode() if kept else ""
    return archive.read("word/document.xml").decode(), footnotes


@pytest.mark.req("export-docx")
class TestWordFootnotes:
    def test_each_is_at_its_page_once_and_may_be_referred_to_again(self) -> None:
        document, footnotes = notes_in(
            "One[^a], two[^b] and one[^a].\n\n[^a]: First, see[^b] <b>&\n[^b]: Second x^2^.\n"
            "\n    - with [a list](https://example.org/x)\n"
        )
        assert re.findall(r'<w:footnoteReference w:id="(\d)"', document) == ["1", "2"]
        fields = re.findall(r"<w:instrText[^>]*>\s*NOTEREF (\w+)", document)
        assert len(fields) == 1
        assert f'w:name="{fields[0]}"' in document
        assert "First, see" not in document
        assert "Notes" not in document
        root = ElementTree.fromstring(footnotes)
        texts = {note.get(f"{WORD}id"): "".join(note.itertext()) for note in root}
        assert texts["1"].strip() == "First, see2 <b>&"
        assert "with a list" in texts["2"]
        assert "↩" not in footnotes
        assert len(re.findall('w:vertAlign w:val="superscript"', footnotes)) == 1
        assert all(note[-1].tag == f"{WORD}p" for note in root)
        places = set(re.findall(r'w:name="(\w+)"', document + footnotes))
        assert set(re.findall(r'w:anchor="(\w+)"', document + footnotes)) <= places

    def test_those_that_word_would_number_otherwise_stay_at_the_end(self) -> None:
        document, footnotes = notes_in("A[^a], c[^c].\n\n[^a]: See[^b].\n[^b]: B.\n[^c]: C.\n")
        assert footnotes == ""
        assert "B." in document

    def test_a_text_without_footnotes_has_no_part_for_them(self) -> None:
        assert notes_in("Nothing[^x] to see.")[1] == ""


@pytest.mark.req("export-docx")
def test_columns_get_the_width_that_their_text_needs() -> None:
    long = "A comment that says at some length what happened, and to whom"
    rows = [[f"row {n}", *(1234.5 + n for _ in range(10)), long] for n in range(3)]
    columns = ["Name", *(f"M{n}" for n in range(10)), "Comment"]
    table = {"kind": "table", "id": "t", "title": "T", "columns": columns, "rows": rows}
    made = exported(
        "# A\n\n## Tables\n\n{{artifact:table:t}}", [("create_table", {"table": table})]
    )
    document = docx.Document(io.BytesIO(written(made, "docx")))
    (found,) = document.tables
    widths = [column.width or 0 for column in found.columns]
    assert widths[-1] > 2 * max(widths[:-1])
    assert all(width > Cm(1.2) for width in widths[1:])
    section = document.sections[1]
    room = (section.page_width or 0) - (section.left_margin or 0) - (section.right_margin or 0)
    assert abs(sum(widths) - room) < Cm(0.1)
    paragraphs = document.paragraphs
    turns = [n for n, p in enumerate(paragraphs) if p._p.find(f".//{WORD}sectPr") is not None]
    assert turns[0] < [p.text for p in paragraphs].index("Tables") < turns[1]


def opened(path: Path, kind: str, folder: Path) -> Path:
    """Open a file in LibreOffice and save it as another kind."""
    soffice = shutil.which("soffice")
    assert soffice
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = [soffice, profile, "--headless", "--convert-to", kind, "--outdir", folder, path]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return folder / path.with_suffix(f".{kind.partition(':')[0]}").name


@needs("soffice")
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.req("export-docx", "export-numbers")
def test_libreoffice_opens_the_document(name: str, tmp_path: Path) -> None:
    path = tmp_path / "report.docx"
    path.write_bytes(sample_in(name, "docx"))
    text = opened(path, "txt:Text", tmp_path).read_text(encoding="utf-8-sig")
    for grid in grids(sample(name)):
        assert all(column in text for column in grid.columns)


@needs("soffice")
@pytest.mark.req("export-xlsx", "export-numbers")
def test_libreoffice_opens_the_workbook(tmp_path: Path) -> None:
    source = sample("hostile")
    artifact = source.report.artifacts["table", "formulas"]
    path = tmp_path / "table.xlsx"
    path.write_bytes(artifact_bytes(artifact, source.payloads["table", "formulas"], "xlsx"))
    text = opened(path, "csv", tmp_path).read_text(encoding="utf-8")
    assert "=1+1,0.3" in text
    assert "0012,9007199254740990" in text or "0012,9007199254740991" in text


@pytest.mark.req("export-numbers")
def test_an_exponent_is_never_a_digit_of_its_base() -> None:
    root = parse(
        "<p><math><mrow><mi>E</mi><mo>=</mo><msup><mn>10</mn><mn>12</mn></msup><mfrac><mi>a</mi>"
        "<mrow><mi>b</mi><mo>+</mo><mn>1</mn></mrow></mfrac><msqrt><mn>2</mn></msqrt></mrow>"
        "<annotation>E=10^{12}</annotation></math> tail</p>"
    )
    linear(root)
    assert text_of(root) == "E=10^12(a/(b+1))√(2) tail"


@pytest.mark.req("export-hostile")
class TestHostile:
    def test_no_pdf_runs_or_opens_anything(self) -> None:
        data = sample_in("hostile", "pdf")
        reader = pypdf.PdfReader(io.BytesIO(data))
        targets = []
        for number in range(1, len(reader.xref[0]) + 1):
            found = IndirectObject(number, 0, reader).get_object()
            if isinstance(found, DictionaryObject):
                assert not {"/JS", "/JavaScript", "/OpenAction", "/AA", "/EF"} & set(found)
                assert found.get("/S") not in ("/JavaScript", "/Launch", "/SubmitForm", "/GoToR")
                targets += [str(found["/URI"])] if "/URI" in found else []
        assert all(
            target.startswith(("https://example.org/", "http://127.0.0.1:9/x.png"))
            for target in targets
        )

    @pytest.mark.req("export-xlsx")
    @pytest.mark.parametrize(
        "text",
        ["<r><t>1</t></r>", "<r>&bad;<x></r>", "<r></r>", "_x003D_1", "</r><r>"],
    )
    def test_no_text_is_the_markup_of_a_workbook(self, text: str) -> None:
        grid = Grid((text,), ((text,), (1,)))
        archive = zipfile.ZipFile(io.BytesIO(workbook(grid, text, text)))
        strings = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
        written = text.replace("_x003D_", "_x005F_x003D_")  # the format's own escape
        assert {"".join(one.itertext()) for one in strings} == {written}

    def test_no_document_links_to_anything_but_the_web(self) -> None:
        archive = zipfile.ZipFile(io.BytesIO(sample_in("hostile", "docx")))
        for name in archive.namelist():
            assert not name.startswith(("/", "..")) and "vba" not in name.lower()
            if name.endswith(".rels"):
                for link in ElementTree.fromstring(archive.read(name)):
                    if link.get("TargetMode") == "External":
                        assert str(link.get("Target")).startswith(
                            ("http://", "https://", "mailto:")
                        )
                        assert str(link.get("Type")).endswith("/hyperlink")
        text = archive.read("word/document.xml").decode()
        assert set(re.findall(r"<w:instrText[^>]*>\s*(\w+)", text)) == {"SEQ"}
        assert "fldSimple" not in text
        assert "w:altChunk" not in text

    def test_no_workbook_has_a_formula_or_a_link(self) -> None:
        source = sample("hostile")
        for key, artifact in source.report.artifacts.items():
            if "xlsx" in forms_of(artifact):
                data = artifact_bytes(artifact, source.payloads[key], "xlsx")
                archive = zipfile.ZipFile(io.BytesIO(data))
                sheet = archive.read("xl/worksheets/sheet1.xml")
                assert b"<f>" not in sheet
                assert b"hyperlink" not in sheet.lower()
                assert not any("external" in name.lower() for name in archive.namelist())

    def test_a_picture_keeps_text_of_any_font(self) -> None:
        def drawn(family: str) -> bytes:
            content = (
                '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="40"><text x="4" y="20"'
                f' font-family="{family}">Text</text></svg>'
            )
            arguments = {"svg": {"id": "d", "title": "", "content": content}}
            return artifact_bytes(catalog.load("create_svg", arguments), arguments, "png")

        assert drawn("Nobody Has This") == drawn("sans-serif") != drawn("serif")

    def test_no_file_is_written_outside_of_its_folder(self, tmp_path: Path) -> None:
        for name in ("../a", "/a", "b/../../a"):
            with pytest.raises(InvariantError):
                write_files(tmp_path, {name: b""})
        assert not list(tmp_path.iterdir())
