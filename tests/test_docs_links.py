"""The documents lead where they say they lead."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PLACE = re.compile(r"\]\(([^)#\s:]*)#([^)\s]+)\)")
FENCED = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


@cache
def places_in(page: Path) -> set[str]:
    """Return the names by which links lead to the headings of a page."""
    found: Counter[str] = Counter()
    places = set()
    for heading in HEADING.findall(FENCED.sub("", page.read_text())):
        words = re.sub(r"\]\([^)]*\)|[^\w\- ]", "", heading)
        name = words.lower().replace(" ", "-")
        places.add(f"{name}-{found[name]}" if found[name] else name)
        found[name] += 1
    return places


@pytest.mark.req("docs-links")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_finds_it(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.req("docs-links")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_heading_finds_it(page: Path) -> None:
    missing = [
        f"{file}#{place}"
        for file, place in PLACE.findall(page.read_text())
        if file.endswith(".md") or not file
        if place not in places_in(page.parent / file if file else page)
    ]
    assert missing == []


@pytest.mark.req("docs-links")
def test_there_are_links_to_check() -> None:
    for kind in (LINK, PLACE):
        assert any(kind.search(page.read_text()) for page in PAGES)


@pytest.mark.req("readme-first-screen")
def test_the_readme_says_little_before_its_first_command() -> None:
    before = (ROOT / "README.md").read_text().split("```", 1)[0]
    assert len(before.split()) <= 60
