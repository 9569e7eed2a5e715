"""Write the pages and files of the gallery from its recordings: ``make gallery``.

Nothing is asked of a model: each recording is imported, replayed, and drawn. The same recordings
give the same bytes of pages and files. With ``--pictures``, Chromium takes the pictures again.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from artificer import World
from artificer.backends.browser.window import browser_program
from artificer.report import write_files

HERE = Path(__file__).parent
NAMES = ("bound", "rich", "embedded")
FORMS = {"bound": ("html",), "embedded": ("html",), "rich": ("html", "pdf", "docx", "md")}
WIDTHS = (390, 768, 1200)


async def write(name: str, into: Path) -> list[Path]:
    """Replay one recording, and write its files into a folder."""
    async with World.in_memory() as world:
        run_id = await world.import_run((HERE / f"{name}.run.gz").read_bytes())
        replay = await world.archive.replay(run_id)
        if not replay.identical:
            raise SystemExit(f"{name} does not replay: {replay}")
        run = await world.get(run_id)
        written: list[Path] = []
        for form in FORMS[name]:
            # Markdown is not named .md, so that it is not taken for a page of the documentation.
            suffix = {"md": "markdown"}.get(form, form)
            written += write_files(into, run.export(form, name=f"{name}.{suffix}"))
    return written


def pictures() -> None:
    """Take small pictures of the rich page: three widths, both themes, and print."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=browser_program(), args=["--no-sandbox"]
        )
        for width in WIDTHS:
            for theme in ("light", "dark"):
                page = browser.new_page(
                    viewport={"width": width, "height": 900}, color_scheme=theme
                )
                page.goto((HERE / "rich.html").as_uri())
                shot = Path(folder) / "page.png"
                page.screenshot(path=str(shot), full_page=True)
                page.close()
                with Image.open(shot) as image:
                    top = image.crop((0, 0, image.width, min(image.height, 2 * width + 900)))
                    small = top.convert("P", palette=Image.Palette.ADAPTIVE, colors=256)
                    small.save(HERE / f"rich-{width}-{theme}.png", optimize=True)
        browser.close()


def main() -> None:
    """Write all, and say what was written."""
    for name in NAMES:
        for path in asyncio.run(write(name, HERE)):
            sys.stdout.write(f"{path.relative_to(HERE)} {path.stat().st_size}\n")
    if "--pictures" in sys.argv:
        pictures()


if __name__ == "__main__":
    main()
