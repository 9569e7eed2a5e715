"""Make a built site load nothing from elsewhere: ``python docs/localize.py site``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

SHIM = "https://unpkg.com/iframe-worker/shim"
ELSEWHERE = re.compile(
    r'<(?:script|img|iframe|link rel="?stylesheet)[^>]+(?:src|href)="?https?:[^ >]*'
)


def localize(site: Path) -> list[str]:
    """Point pages to our own script, and return what they still load from elsewhere."""
    left = []
    for page in site.rglob("*.html"):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        text = page.read_text(encoding="utf-8").replace(SHIM, f"{up}assets/worker.js")
        page.write_text(text, encoding="utf-8")
        left += [f"{page}: {found}" for found in ELSEWHERE.findall(text)]
    return left


if __name__ == "__main__":
    if found := localize(Path(sys.argv[1])):
        raise SystemExit("\n".join(found))
