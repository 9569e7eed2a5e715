"""How a worker reports a test: once, unless its set-up or tear-down fails too.

pytest-xdist sends six messages for each test, which cost as much as most tests. For a test that has
passed, two of them are enough: its report, and that the next one may begin.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from _pytest.runner import runtestprotocol


@pytest.hookimpl
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and report only of its set-up and tear-down what has not passed."""
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(
    report: pytest.CollectReport | pytest.TestReport,
) -> Generator[None, dict[str, Any], dict[str, Any]]:
    """Leave out the names that `-k` looks for, which only reports of skipped tests need."""
    data = yield
    if report.passed:
        data["keywords"] = {}
    return data
