"""docs/concepts/layout.md shows what there is, in the order of the layers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "concepts" / "layout.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "artificer"

pytestmark = pytest.mark.req("layout-page")


def rows() -> list[str]:
    """The modules of the table's first column, in order."""
    firsts = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    return [name.rstrip("/").removesuffix(".py") for cell in firsts for name in cells(cell)]


def cells(text: str) -> list[str]:
    return re.findall("`([^`]+)`", text)


def layers() -> list[list[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers"
    )
    return [layer.split(" | ") for layer in contract["layers"]]


def test_every_module_is_named_once() -> None:
    there = {
        path.stem
        for path in SOURCE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert sorted(rows()) == sorted(there - {"__init__", "__main__"})


def test_the_table_has_the_order_of_the_layers() -> None:
    order = {name: n for n, layer in enumerate(layers()) for name in layer}
    places = [order[name] for name in rows()]
    assert places == sorted(places)


def test_every_room_that_the_page_names_is_there() -> None:
    for name in rows():
        assert (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()
    backends = {p.name for p in (SOURCE / "backends").iterdir() if (p / "backend.py").exists()}
    (line,) = (line for line in PAGE.splitlines() if line.startswith("| `backends/`"))
    assert backends <= set(cells(line))
