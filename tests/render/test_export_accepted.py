"""The PDF before a validator of PDF/A, and before the checks of PDF/UA that a program can do.

Apache PDFBox Preflight validates PDF/A-1b: fonts, colours, transparency, metadata. What PDF/UA asks
of tags is checked here by the points of the Matterhorn protocol that need no human.
"""

from __future__ import annotations

import dataclasses
import io
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pypdf
import pytest
import render_rich
from export_sample import SAMPLES, exported, sample_in, written
from PIL import Image
from pypdf.generic import (
    ArrayObject,
    ContentStream,
    DictionaryObject,
    IndirectObject,
    NameObject,
    TextStringObject,
)

from artificer.render.attachments import ShownAttachment
from artificer.render.export.exported import Exported
from artificer.render.export.opaque import needs_pixels, opaque
from artificer.values.blocks import ImageBlock
from artificer.values.canon import digest_of
from needs import needs

pytestmark = [needs("vl_convert", "weasyprint"), pytest.mark.xdist_group("exports")]

JARS = Path("/usr/share/java")
CLASSES = ":".join(
    str(JARS / f"{name}.jar")
    for name in (
        "preflight",
        "pdfbox2",
        "xmpbox",
        "fontbox2",
        "commons-logging",
        "javax.activation",
        "jaxb-api",
    )
)
ZERO = digest_of(b"")
PAINTING = frozenset(("S", "s", "f", "F", "f*", "B", "B*", "b", "b*", "sh", "Do", "Tj", "TJ", "BI"))
HEADINGS = tuple(f"/H{level}" for level in range(1, 7))


def rich() -> Exported:
    return exported(render_rich.NARRATIVE, render_rich.CALLS)


def pictures() -> Exported:
    """A report with images that people attached: one lets the page shine through."""
    made = exported()
    attached = []
    for mode, kind in (("RGBA", "PNG"), ("LA", "PNG"), ("P", "GIF"), ("CMYK", "JPEG")):
        out = io.BytesIO()
        Image.new(mode, (9, 9)).save(out, kind)
        media_type = f"image/{kind.lower()}"
        size = len(out.getvalue())
        block = ImageBlock(digest=ZERO, media_type=media_type, size=size, tokens=9, name=mode)
        attached.append(ShownAttachment(block, out.getvalue()))
    report = dataclasses.replace(made.report, attached=tuple(attached))
    return Exported(report, made.payloads)


MADE = {"pictures": pictures, **SAMPLES, "rich": rich}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The PDF of each report."""
    folder = tmp_path_factory.mktemp("pdf")
    made = {name: folder / f"{name}.pdf" for name in MADE}
    for name, path in made.items():
        path.write_bytes(
            sample_in(name, "pdf") if name in SAMPLES else written(MADE[name](), "pdf")
        )
    return made


QUICK = ("-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Of a short program most is its start."""


def verdicts(folder: Path) -> str:
    """Return the words of the validator on every PDF of a folder."""
    command = ["java", *QUICK, "-cp", CLASSES]
    command += ["org.apache.pdfbox.preflight.Validator_A1b", "batch", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return done.stdout + done.stderr


@needs("java", "/usr/share/java/preflight.jar")
@pytest.mark.req("export-pdf-accepted")
def test_a_validator_accepts_every_report_and_refuses_damaged_ones(
    files: dict[str, Path], tmp_path: Path
) -> None:
    for path in files.values():
        (tmp_path / path.name).symlink_to(path)
    for name, damage in DAMAGES.items():
        writer = pypdf.PdfWriter(clone_from=files["realistic"])
        damage(writer)
        writer.write(tmp_path / f"damaged-{name}.pdf")
    said = verdicts(tmp_path)
    assert {path.name for path in files.values()} == {
        line.split()[2] for line in said.splitlines() if line.endswith("is a valid PDF/A-1b file")
    }, said
    assert said.count("is not a valid PDF/A-1b file") == len(DAMAGES), said


def _without_metadata(writer: pypdf.PdfWriter) -> None:
    del writer.root_object["/Metadata"]


def _with_a_script(writer: pypdf.PdfWriter) -> None:
    action = {NameObject("/S"): NameObject("/JavaScript"), NameObject("/JS"): TextStringObject("1")}
    writer.root_object[NameObject("/OpenAction")] = DictionaryObject(action)


def _without_a_font(writer: pypdf.PdfWriter) -> None:
    fonts = writer.pages[0]["/Resources"]["/Font"]  # type: ignore[index]
    font = next(iter(fonts.values())).get_object()["/DescendantFonts"][0].get_object()
    descriptor = font["/FontDescriptor"].get_object()
    for name in [name for name in descriptor if name.startswith("/FontFile")]:
        del descriptor[name]


DAMAGES = {
    "metadata": _without_metadata,
    "script": _with_a_script,
    "font": _without_a_font,
}


def elements(node: Any) -> Iterator[DictionaryObject]:
    """The elements of a structure below one, in reading order."""
    if isinstance(node, IndirectObject):
        node = node.get_object()
    if isinstance(node, ArrayObject):
        for child in node:
            yield from elements(child)
    elif isinstance(node, DictionaryObject) and "/S" in node:
        yield node
        if "/K" in node:
            yield from elements(node["/K"])


@pytest.fixture(params=MADE, scope="module")
def pdf(request: pytest.FixtureRequest, files: dict[str, Path]) -> pypdf.PdfReader:
    return pypdf.PdfReader(io.BytesIO(files[request.param].read_bytes()))


@pytest.fixture(scope="module")
def tree(pdf: pypdf.PdfReader) -> list[DictionaryObject]:
    return list(elements(pdf.trailer["/Root"]["/StructTreeRoot"]["/K"]))


@pytest.mark.req("export-pdf-accepted")
class TestMatterhorn:
    def test_whatever_is_painted_is_content_or_an_artifact(self, pdf: pypdf.PdfReader) -> None:
        for page in pdf.pages:
            marks: list[bool] = []
            for operands, operator in ContentStream(page.get_contents(), pdf).operations:
                name = operator.decode()
                if name in ("BDC", "BMC"):
                    is_artifact = operands[0] == "/Artifact"
                    marks.append(is_artifact or "/MCID" in dict(operands[1]))
                elif name == "EMC":
                    marks.pop()
                assert name not in PAINTING or any(marks), f"{name} is not marked"
            assert not marks

    def test_the_document_names_itself_its_language_and_both_standards(
        self, pdf: pypdf.PdfReader
    ) -> None:
        root = pdf.trailer["/Root"]
        about = root["/Metadata"].get_object().get_data().decode()
        assert "<pdfuaid:part>1</pdfuaid:part>" in about
        assert "<pdfaid:part>1</pdfaid:part><pdfaid:conformance>A</pdfaid:conformance>" in about
        assert fromstring(about.partition("?>\n")[2].rpartition("<?xpacket")[0]) is not None
        assert root["/Lang"]
        assert pdf.metadata is not None
        assert pdf.metadata.title
        for page in pdf.pages:
            assert page["/Tabs"] == "/S"
            assert "/StructParents" in page

    def test_headings_go_down_one_level_at_a_time(self, tree: list[DictionaryObject]) -> None:
        levels = [HEADINGS.index(tag) for element in tree if (tag := element["/S"]) in HEADINGS]
        assert levels[0] == 0
        assert all(after <= before + 1 for before, after in pairwise(levels))

    def test_figures_have_words_and_links_their_text(
        self, pdf: pypdf.PdfReader, tree: list[DictionaryObject]
    ) -> None:
        figures = [element for element in tree if element["/S"] == "/Figure"]
        assert figures
        assert all(str(figure.get("/Alt", "")).strip() for figure in figures)
        for page in pdf.pages:
            for reference in page.get("/Annots", []):
                link = reference.get_object()
                assert str(link["/Contents"]).strip()
                assert "/StructParent" in link

    def test_lists_hold_items_and_items_a_body(self, tree: list[DictionaryObject]) -> None:
        for element in tree:
            own = [kid.get_object().get("/S") for kid in _own(element)]
            if element["/S"] == "/L":
                assert set(own) <= {"/LI", "/L", "/Caption"}
            if element["/S"] == "/LI":
                assert set(own) <= {"/Lbl", "/LBody"}
                assert own.count("/LBody") <= 1

    def test_every_cell_of_a_table_has_a_heading(self, tree: list[DictionaryObject]) -> None:
        tables = [element for element in tree if element["/S"] == "/Table"]
        assert tables
        for table in tables:
            cells = [cell for cell in elements(table["/K"]) if cell["/S"] in ("/TH", "/TD")]
            named = {str(cell["/ID"]) for cell in cells if "/ID" in cell and cell["/S"] == "/TH"}
            for cell in cells:
                attributes = cell["/A"]
                if cell["/S"] == "/TD":
                    assert {str(name) for name in attributes["/Headers"]} <= named  # type: ignore[index]
                else:
                    assert "/Scope" in attributes or "/ID" in cell

    def test_every_font_is_embedded_and_says_what_its_glyphs_are(
        self, pdf: pypdf.PdfReader
    ) -> None:
        for page in pdf.pages:
            for reference in page["/Resources"].get("/Font", {}).values():  # type: ignore[union-attr]
                font = reference.get_object()
                inner = font["/DescendantFonts"][0].get_object()["/FontDescriptor"].get_object()
                assert any(name.startswith("/FontFile") for name in inner)
                assert NameObject("/ToUnicode") in font


def _own(element: DictionaryObject) -> list[Any]:
    kids = element.get("/K", ArrayObject())
    kids = kids if isinstance(kids, ArrayObject) else ArrayObject([kids])
    found = (kid.get_object() for kid in kids if isinstance(kid, IndirectObject | DictionaryObject))
    return [kid for kid in found if isinstance(kid, DictionaryObject) and "/S" in kid]


@needs("qpdf")
@pytest.mark.req("export-pdf-accepted")
def test_the_file_itself_has_no_error(files: dict[str, Path]) -> None:
    for path in files.values():
        done = subprocess.run(
            ["qpdf", "--check", path], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.req("export-pdf-accepted")
def test_colours_are_those_that_are_seen_on_paper() -> None:
    drawing = fromstring(
        '<svg opacity="0.5"><g fill-opacity="50%"><path fill="#0072b2" fill-opacity="0.5"/></g>'
        '<rect fill="#f00" stroke="rgb(0, 0, 0)" stroke-opacity="0.5"/><text opacity="2">a</text>'
        '<path fill="none" stroke="black" opacity="1"/><path stroke-opacity="x" fill="url(#a)"/>'
        "</svg>"
    )
    opaque(drawing)
    _, path, rect, text, line, other = list(drawing.iter())[1:]
    assert "opacity" not in "".join(name for found in drawing.iter() for name in found.attrib)
    assert path.get("fill") == "#bfdcec"
    assert (rect.get("fill"), rect.get("stroke")) == ("#ff8080", "#bfbfbf")
    assert text.attrib == {}
    assert (line.get("fill"), line.get("stroke")) == ("none", "#808080")
    assert other.get("fill") == "url(#a)"


@pytest.mark.req("export-pdf-accepted")
@pytest.mark.parametrize(
    ("part", "shines"),
    [
        ('<rect fill="#fff"/>', False),
        ('<rect fill="rgb(1, 2, 3)" opacity="1"/>', False),
        ('<rect fill="url(#a)"/>', False),
        ('<rect fill="#ffffff80"/>', True),
        ('<rect fill="rgba(1, 2, 3, 0.4)"/>', True),
        ('<rect fill="rgb(1 2 3 / 40%)"/>', True),
        ('<stop stop-opacity="0.2"/>', True),
        ('<g mask="url(#m)"/>', True),
        ('<g filter="url(#f)"/>', True),
        ('<g opacity="0"/>', True),
    ],
)
def test_a_drawing_that_lets_something_shine_through_is_found(part: str, *, shines: bool) -> None:
    assert needs_pixels(fromstring(f"<svg>{part}</svg>")) == shines
