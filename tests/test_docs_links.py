"""The documents lead where they say they lead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.req("docs-links")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_finds_it(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.req("docs-links")
def test_there_are_links_to_check() -> None:
    assert any(LINK.search(page.read_text()) for page in PAGES)


@pytest.mark.req("readme-first-screen")
def test_the_readme_says_little_before_its_first_command() -> None:
    before = (ROOT / "README.md").read_text().split("```", 1)[0]
    assert len(before.split()) <= 60
