"""A report for paper: the page without what only a screen can do.

The data of the charts moves behind the report, so that nothing of it is lost and the report reads
well; each figure links to its data. ``dir=auto`` becomes the direction of the text.
"""

from __future__ import annotations

from unicodedata import bidirectional
from xml.etree.ElementTree import Element, SubElement

from artificer.render.export.fit import fit
from artificer.render.export.formula import linear
from artificer.render.export.tree import classes, parse, remove, text_of
from artificer.render.html import to_html
from artificer.render.report import Report

_SCREEN_CLASSES = frozenset(("slim", "choice"))
_SCREEN_ONLY = frozenset(("style", "script", "noscript", "template", "nav"))


def paper(report: Report) -> Element:
    """Return the element ``html`` of the page, for paper."""
    root = next(iter(parse(to_html(report))))
    _remove_screen(root)
    linear(root)
    _tick(root)
    _separate(root)
    _move_data(root)
    fit(root)
    _direct(root)
    return root


def main_of(root: Element) -> Element:
    """Return the element that holds the report."""
    found = root.find(".//main")
    return root if found is None else found


def is_rtl(character: str) -> bool:
    """Whether a character is of a script that runs from right to left."""
    return bidirectional(character) in ("R", "AL")


def direction(text: str) -> str:
    """Return the direction of a text: that of its first strong character."""
    for character in text:
        if is_rtl(character):
            return "rtl"
        if bidirectional(character) == "L":
            return "ltr"
    return "ltr"


def _remove_screen(element: Element) -> None:
    for child in list(element):
        policy = child.tag == "meta" and "http-equiv" in child.attrib
        to_itself = child.tag == "a" and "section" in classes(child)
        for_screens = child.tag in _SCREEN_ONLY or classes(child) & _SCREEN_CLASSES or to_itself
        if for_screens or policy or "download" in child.attrib:
            remove(element, child)
        else:
            _remove_screen(child)


def _move_data(root: Element) -> None:
    main = main_of(root)
    section = Element("section", {"class": "data"})
    for figure in main.iter("figure"):
        if figure.find(".//svg") is None:
            continue  # the data is shown in the figure's place
        for parent in list(figure.iter()):
            for details in parent.findall("details"):
                _move_details(section, figure, parent, details)
    if not len(section):
        return
    heading = Element("h2")
    heading.text = section.get("title")
    del section.attrib["title"]
    section.insert(0, heading)
    footer = main.find("footer")
    main.insert(len(main) if footer is None else list(main).index(footer), section)


def _move_details(section: Element, figure: Element, parent: Element, details: Element) -> None:
    summary = details.find("summary")
    words = "Data" if summary is None else text_of(summary)
    section.set("title", words)
    block = SubElement(section, "div", {"class": "data", "id": f"data-{figure.get('id', '')}"})
    parts = [child for child in details if child is not summary]
    for part in sorted(parts, key=lambda part: part.tag == "p"):  # the table, then it in words
        part.set("class", f"{part.get('class', '')} words".strip() if part.tag == "p" else "")
        block.append(part)
    for caption in block.iter("caption"):
        caption.attrib.pop("class", None)
    remove(parent, details)
    see = SubElement(figure, "p", {"class": "see"})
    SubElement(see, "a", {"href": f"#{block.get('id')}"}).text = words


def _tick(element: Element) -> None:
    """Replace each box to tick by a character."""
    for found in element.iter("input"):
        is_ticked = "checked" in found.attrib
        found.tag, found.text = "span", "☑" if is_ticked else "☐"
        found.attrib.clear()
        found.set("class", "tick")
        found.tail = f"\u00a0{found.tail or ''}"


def _separate(root: Element) -> None:
    """Put between words what the page's style sheet puts there."""
    for line in root.iter("p"):
        spans = line.findall("span")
        if "dateline" in classes(line):
            for span in spans[:-1]:
                span.tail = " · "
        elif "caption" in classes(line):
            for before in line[:-1]:
                before.tail = f"{before.tail or ''} "


def _direct(element: Element) -> None:
    """Replace ``dir=auto``, which not every converter knows."""
    for found in element.iter():
        if found.get("dir") == "auto" or found.tag == "bdi":
            found.set("dir", direction(text_of(found)))
