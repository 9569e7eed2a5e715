"""Runs a conformance suite against something wrong, and says which of its tests noticed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


async def faults(suite: type[Any], *only: str, **fixtures: Callable[[], Any]) -> set[str]:
    """Return the names of the tests that fail, of these or all; each gets fresh fixtures."""
    tests = suite()
    tests.patience_s = 1.0
    failed: set[str] = set()
    for name in only or sorted(name for name in dir(suite) if name.startswith("test_")):
        test = getattr(tests, name)
        wanted = {part: fixtures[part]() for part in inspect.signature(test).parameters}
        try:
            result = test(**wanted)
            if inspect.isawaitable(result):
                await result
        except Exception:  # noqa: BLE001 - whatever it is, the test has failed
            failed.add(name)
    return failed
