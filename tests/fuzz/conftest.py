"""Lets these tests find the builders and corpora of the others, also where they run alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

for folder in ("artifacts", "providers", "render", "tools"):
    place = str(Path(__file__).parents[1] / folder)
    if place not in sys.path:
        sys.path.append(place)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """An example may be longer than what Hypothesis likes to print."""
    for item in items:
        if item.nodeid.startswith("tests/fuzz/"):
            item.add_marker(pytest.mark.filterwarnings("ignore:Generating overly large repr"))
