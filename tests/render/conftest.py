"""A browser to look at reports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from render_browser import Chromium, started


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """The browser of all tests of a worker."""
    with started(tmp_path_factory.mktemp("profile")) as found:
        yield found
