"""The standards that a PDF declares: PDF/A-1a, to keep it, and PDF/UA-1, for all readers.

The converter knows one of both standards at a time, so this writes the metadata (XMP) of both. The
first is declared only if nothing in the file is transparent, which PDF/A-1 does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

VARIANT = "pdf/a-1a"
"""The converter's name of the standard that sets version, colours and structure."""

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_SPACES = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "xmp": "http://ns.adobe.com/xap/1.0/",
    "pdf": "http://ns.adobe.com/pdf/1.3/",
    "pdfaid": "http://www.aiim.org/pdfa/ns/id/",
    "pdfuaid": "http://www.aiim.org/pdfua/ns/id/",
    "pdfaExtension": "http://www.aiim.org/pdfa/ns/extension/",
    "pdfaSchema": "http://www.aiim.org/pdfa/ns/schema#",
    "pdfaProperty": "http://www.aiim.org/pdfa/ns/property#",
}
_EXTENSION = """\
<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">\
<pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI>\
<pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix>\
<pdfaSchema:schema>PDF/UA identification schema</pdfaSchema:schema>\
<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource">\
<pdfaProperty:category>internal</pdfaProperty:category>\
<pdfaProperty:description>Part of PDF/UA</pdfaProperty:description>\
<pdfaProperty:name>part</pdfaProperty:name>\
<pdfaProperty:valueType>Integer</pdfaProperty:valueType>\
</rdf:li></rdf:Seq></pdfaSchema:property></rdf:li></rdf:Bag></pdfaExtension:schemas>"""
"""PDF/A wants every property described that it does not know, here the one of PDF/UA."""


def finish(document: Any, pdf: Any) -> None:
    """Write the metadata and complete the structure, once the converter has made the document."""
    for item in list(pdf.objects):
        if isinstance(item, Mapping) and item.get("S") == "/LI":
            _give_body(pdf, item)
    _declare(document, pdf)


def _give_body(pdf: Any, item: Any) -> None:
    """Put what a list item holds into its body: the converter leaves paragraphs next to it."""
    kids = [pdf.objects[int(kid.split()[0])] for kid in item["K"]]
    loose = [kid for kid in kids if kid["S"] not in ("/Lbl", "/LBody")]
    if not loose:
        return
    body = type(item)(item)
    pdf.add_object(body)
    body |= {"S": "/LBody", "P": item.reference, "K": type(item["K"])(k.reference for k in loose)}
    for kid in loose:
        kid["P"] = body.reference
    kept = [kid.reference for kid in kids if kid not in loose]
    item["K"] = type(item["K"])([*kept, body.reference])


def _declare(document: Any, pdf: Any) -> None:
    is_kept = not any(map(_is_transparent, pdf.objects))
    if is_kept:
        for item in pdf.objects:
            getattr(item, "extra", {}).pop("Group", None)  # nothing shines through a group
    about = document.metadata
    number = int(pdf.catalog["Metadata"].split()[0])
    made = {
        "CreatorTool": about.generator,
        "CreateDate": about.created,
        "ModifyDate": about.modified,
    }
    producer = pdf.info["Producer"].string
    packet = _packet(_title(about.title or ""), made, producer, is_kept=is_kept)
    pdf.objects[number].stream = [packet.encode()]


def _is_transparent(item: Any) -> bool:
    """Whether an object of the file, or a state that it names, lets something shine through."""
    if "SMask" in getattr(item, "extra", {}):
        return True
    return any(map(_is_thin, _states(item)))


def _states(item: Any) -> Iterator[Mapping[str, Any]]:
    holder = getattr(item, "extra", item)
    if isinstance(holder, Mapping):
        resources = holder.get("Resources", holder)
        if isinstance(resources, Mapping):
            states = resources.get("ExtGState", {})
            yield from states.values() if isinstance(states, Mapping) else ()


def _is_thin(state: Mapping[str, Any]) -> bool:
    is_layered = state.get("SMask", "/None") != "/None" or state.get("BM", "/Normal") != "/Normal"
    return is_layered or any(float(state.get(name, 1)) < 1 for name in ("ca", "CA"))


def _title(title: str) -> str:
    return (
        f'<dc:title><rdf:Alt><rdf:li xml:lang="x-default">{escape(title)}</rdf:li></rdf:Alt>'
        "</dc:title>"
    )


def _packet(title: str, made: Mapping[str, str | None], producer: str, *, is_kept: bool) -> str:
    spaces = "".join(f" xmlns:{name}={quoteattr(uri)}" for name, uri in _SPACES.items())
    dates = "".join(f"<xmp:{key}>{escape(text)}</xmp:{key}>" for key, text in made.items() if text)
    parts = [
        "<pdfaid:part>1</pdfaid:part><pdfaid:conformance>A</pdfaid:conformance>" * is_kept,
        "<pdfuaid:part>1</pdfuaid:part>",
        f"<pdf:Producer>{escape(producer)}</pdf:Producer>",
        title,
        dates,
    ]
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="{_RDF}">\n'
        f'<rdf:Description rdf:about=""{spaces}>{_EXTENSION}</rdf:Description>\n'
        f'<rdf:Description rdf:about=""{spaces}>{"".join(parts)}</rdf:Description>\n'
        "</rdf:RDF></x:xmpmeta>\n"
        '<?xpacket end="w"?>'
    )
