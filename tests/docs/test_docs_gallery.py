"""The gallery: recordings that replay, and pages that are drawn from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from artificer import World
from needs import needs

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
AUTHORS = {
    "bound": "A script wrote these words",
    "rich": "A script wrote this report",
    "embedded": "local/",
}

pytestmark = [pytest.mark.req("docs-gallery"), needs("vl_convert")]


@pytest.mark.parametrize("name", AUTHORS)
async def test_a_recording_replays_and_its_page_says_who_wrote_it(name: str) -> None:
    async with World.in_memory() as world:
        run_id = await world.import_run((GALLERY / f"{name}.run.gz").read_bytes())
        assert (await world.archive.replay(run_id)).identical
        run = await world.get(run_id)
        page = run.html
    assert AUTHORS[name] in page
    shown = (GALLERY / f"{name}.html").read_text("utf-8")
    assert AUTHORS[name] in shown and f"artificer replay {run_id}" in shown


async def test_the_same_recording_gives_the_same_bytes() -> None:
    made = []
    for _ in range(2):
        async with World.in_memory() as world:
            run_id = await world.import_run((GALLERY / "bound.run.gz").read_bytes())
            made.append((await world.get(run_id)).export("html"))
    assert made[0] == made[1]


def test_the_gallery_is_small() -> None:
    files = [path for path in GALLERY.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 4_000_000
