"""The site has every page, needs nothing from elsewhere, and is light and dark."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]

pytestmark = pytest.mark.req("docs-site")


def pages(entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        for value in entry.values():
            if isinstance(value, str):
                yield value
            else:
                yield from pages(value)


def test_the_menu_has_every_page_once() -> None:
    listed = list(pages(PROJECT["nav"]))
    there = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    decisions = {page for page in there if page.startswith("decisions/")}
    assert len(listed) == len(set(listed))
    assert sorted(there - decisions ^ set(listed)) == []


def test_the_overview_leads_to_every_guide() -> None:
    overview = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    guides = {f"guides/{page.name}" for page in (ROOT / "docs" / "guides").glob("*.md")}
    assert sorted(guides - set(re.findall(r"\(([^)#]+)", overview))) == []


def test_it_is_light_and_dark_and_works_offline() -> None:
    schemes = {palette.get("scheme") for palette in PROJECT["theme"]["palette"]}
    assert {"default", "slate"} <= schemes
    assert PROJECT["theme"]["font"] is False
    assert "offline" in PROJECT["plugins"]
