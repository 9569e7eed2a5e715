"""The imports of the benches: nothing else runs all of them in each build."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

BENCHES = sorted((Path(__file__).parents[2] / "bench").rglob("*.py"))


def imported(file: Path) -> Iterator[tuple[str, str]]:
    """The modules of ours that a file imports, each with a name from it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("artificer"):
            yield from ((node.module or "", name.name) for name in node.names)


@pytest.mark.req("bench-imports")
@pytest.mark.parametrize("bench", BENCHES, ids=lambda file: file.stem)
def test_what_a_bench_imports_is_there(bench: Path) -> None:
    for module, name in imported(bench):
        found = import_module(module)
        assert hasattr(found, name) or import_module(f"{module}.{name}"), (module, name)
