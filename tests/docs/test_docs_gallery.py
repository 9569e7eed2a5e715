"""The gallery: recordings that replay, and pages that are drawn from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from artificer import World

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
AUTHORS = {
    "bound": "A script wrote these words",
    "rich": "A script wrote this report",
    "embedded": "local/",
}

pytestmark = pytest.mark.req("docs-gallery")


@pytest.mark.parametrize("name", AUTHORS)
async def test_a_recording_replays_and_its_page_says_who_wrote_it(name: str) -> None:
    async with World.in_memory() as world:
        run_id = await world.import_run((GALLERY / f"{name}.run.gz").read_bytes())
        assert (await world.archive.replay(run_id)).identical
        run = await world.get(run_id)
        page = run.html
    assert AUTHORS[name] in page and f"artificer replay {run_id}" in page
    shown = (GALLERY / f"{name}.html").read_bytes()
    assert page.encode() == shown, "the page of the gallery is an older one: run make gallery"


def test_the_gallery_is_small() -> None:
    files = [path for path in GALLERY.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 4_000_000
