"""Every document that a requirement cites is in the repository, and has what is cited."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIREMENTS = tomllib.loads((ROOT / "tests" / "requirements.toml").read_text(encoding="utf-8"))
PAGE = re.compile(r"(?P<page>[\w./-]+\.md)(?:: (?P<names>[^;]+))?")
PARTS = re.compile(r"^(?:\d+\.|-) \*\*(.+?)\.?\*\*|^## (.+)$|^(\d+)\. ", re.MULTILINE)
ELSEWHERE = re.compile(
    r"\b(DESIGN|[Ss]eed 00\d|(the )?research (\w+ (§|threads?|section|T\d)|lists|on local))"
)
"""Documents that are not here."""


def names_in(page: str) -> set[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    numbers = set(re.findall(r"^(\d+)\. \*\*", text, re.MULTILINE))
    return numbers | {first or second for first, second, _ in PARTS.findall(text)}


@pytest.mark.req("requirement-sources")
def test_what_a_requirement_cites_is_here() -> None:
    for requirement in REQUIREMENTS["requirement"]:
        source = requirement["source"]
        assert not ELSEWHERE.search(source), (requirement["id"], source)
        for found in PAGE.finditer(source):
            assert (ROOT / found["page"]).is_file(), (requirement["id"], source)


@pytest.mark.req("requirement-sources")
def test_what_the_source_and_the_tests_cite_is_here() -> None:
    for folder in ("src", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            found = ELSEWHERE.search(path.read_text(encoding="utf-8"))
            assert found is None or path == Path(__file__), (path, found)


@pytest.mark.req("requirement-sources")
@pytest.mark.parametrize("page", ["docs/concepts/invariants.md", "docs/concepts/sources.md"])
def test_the_parts_that_requirements_name_are_on_the_page(page: str) -> None:
    cited = [
        name.strip()
        for requirement in REQUIREMENTS["requirement"]
        for found in PAGE.finditer(requirement["source"])
        if found["page"] == page and found["names"]
        for name in found["names"].split(",")
    ]
    assert len(cited) > 50
    assert sorted(set(cited) - names_in(page)) == []


@pytest.mark.req("requirement-sources")
def test_there_are_fourteen_invariants() -> None:
    numbers = {name for name in names_in("docs/concepts/invariants.md") if name.isdecimal()}
    assert numbers == {str(number) for number in range(1, 15)}


@pytest.mark.req("decisions-dated")
def test_decisions_have_a_number_of_their_own_a_status_and_a_date() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [page.name.partition("-")[0] for page in pages]
    assert numbers == [f"{number:04}" for number in range(1, len(pages) + 1)]
    for page in pages:
        title, _, status, *_ = page.read_text(encoding="utf-8").splitlines()
        assert title.startswith(f"# {int(page.name[:4])}. "), page.name
        assert re.match(r"(Accepted|Replaced|Amended)\b.*\d{4}-\d\d-\d\d", status), page.name
