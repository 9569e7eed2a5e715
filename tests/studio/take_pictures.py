"""Take the pictures of the studio in the documentation: ``make pictures``. Needs Chromium.

    .venv/bin/python tests/studio/take_pictures.py FOLDER [WORD…]

takes every view at three widths and in both themes into a folder that is there, to look at them;
with words, those whose names hold one.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), *(str(TESTS / name) for name in ("studio", "runtime/builds"))]

from PIL import Image  # noqa: E402
from scene_list import SCENES, Scene  # noqa: E402
from scenes import FormingModel, scenery  # noqa: E402
from studio_kit import Studio, browsing, chromium, entered  # noqa: E402

DOCS = TESTS.parent / "docs" / "pictures"
SHOWN = {"run-done": "light", "run-asks": "dark", "record": "dark"}
"""The views of the documentation, each with its theme."""

WIDTHS, THEMES = (320, 768, 1200), ("light", "dark")


async def shoot(
    page: Any, scened: tuple[Studio, FormingModel], scene: Scene, path: Path, *, full: bool
) -> None:
    """Take a picture of a view, small enough to be kept."""
    studio, model = scened
    await page.goto(scene.address(studio))
    if scene.arrange is not None:
        await scene.arrange(page, model)
    await page.wait_for_load_state("load" if scene.is_live else "networkidle")
    with Image.open(BytesIO(await page.screenshot(full_page=full))) as image:
        small = image.convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=256)
        small.save(path, optimize=True)
    print(path)


async def of_the_documentation(page: Any, scened: tuple[Studio, FormingModel]) -> None:
    """Take the pictures of the guide, under names that stay."""
    await page.set_viewport_size({"width": 1200, "height": 820})
    for scene in (one for one in SCENES if one.name in SHOWN):
        await page.emulate_media(color_scheme=SHOWN[scene.name])
        await shoot(page, scened, scene, DOCS / f"studio-{scene.name}.png", full=False)


async def of_all(
    page: Any, scened: tuple[Studio, FormingModel], folder: Path, words: list[str]
) -> None:
    """Take every view at every width in both themes."""
    wanted = [one for one in SCENES if not words or any(word in one.name for word in words)]
    for theme in THEMES:
        await page.emulate_media(color_scheme=theme)
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 900})
            for scene in wanted:
                path = folder / f"{scene.name}-{width}-{theme}.png"
                await shoot(page, scened, scene, path, full=True)


async def main(arguments: list[str]) -> None:
    """Serve the scenes, and take their pictures."""
    with tempfile.TemporaryDirectory() as name:
        async with (
            scenery(Path(name)) as scened,
            chromium() as started,
            browsing(started) as browser,
        ):
            page = await browser.new_page()
            await entered(page, scened[0])
            if arguments:
                await of_all(page, scened, Path(arguments[0]), arguments[1:])
            else:
                await of_the_documentation(page, scened)
            browser.said.clear()  # a page that is not there is among the scenes


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
