"""Make a built site whole by itself: ``python docs/localize.py site``.

It loads nothing from elsewhere, and brings the files of the project that its pages link to.
"""

from __future__ import annotations

import re
import shutil
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = "files"

SHIM = "https://unpkg.com/iframe-worker/shim"
ELSEWHERE = re.compile(
    r'<(?:script|img|iframe|link rel="?stylesheet)[^>]+(?:src|href)="?https?:[^ >]*'
)
LINK = re.compile(r'href="?([^" >#]+)')
OUTSIDE = re.compile(r'href="((?:\.\./)+(?:bench|examples|src|tests)/[^"#]*)"')


def localize(site: Path) -> list[str]:
    """Point pages to our own script and copies.

    Return what they load from elsewhere, and their links that lead nowhere.
    """
    left = []
    for page in site.rglob("*.html"):
        place = page.relative_to(site)
        up = "../" * (len(place.parts) - 1)
        text = page.read_text(encoding="utf-8").replace(SHIM, f"{up}assets/worker.js")
        for link in set(OUTSIDE.findall(text)):
            source = (ROOT / "docs" / place.parent / link).resolve().relative_to(ROOT)
            text = text.replace(f'href="{link}"', f'href="{up}{copied(source, site)}"')
        page.write_text(text, encoding="utf-8")
        left += [f"{page} loads {found}" for found in ELSEWHERE.findall(text)]
    return left + [
        f"{page} links to {link}, which is not there"
        for page in site.rglob("*.html")
        for link in LINK.findall(page.read_text(encoding="utf-8"))
        if not re.match("[a-z]+:|/", link) and not (page.parent / link).exists()
    ]


def copied(source: Path, site: Path) -> str:
    """Copy a file of the project, or a folder with a list of its files; return where it is."""
    original, copy = ROOT / source, site / FILES / source
    if original.is_file():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(original, f"{copy}.txt")  # which every browser shows as text
        return f"{FILES}/{source}.txt"
    files = sorted(p for p in original.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    names = [str(path.relative_to(original)) for path in files]
    for path in files:
        copied(path.relative_to(ROOT), site)
    items = "".join(f'<li><a href="{escape(n)}.txt">{escape(n)}</a></li>' for n in names)
    title = escape(str(source))
    page = f'<!doctype html><meta charset="utf-8"><title>{title}</title>'
    (copy / "index.html").write_text(f"{page}<h1>{title}</h1><ul>{items}</ul>", encoding="utf-8")
    return f"{FILES}/{source}/index.html"


if __name__ == "__main__":
    if found := localize(Path(sys.argv[1])):
        raise SystemExit("\n".join(found))
