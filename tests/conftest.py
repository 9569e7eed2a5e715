"""What holds for every test."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# No timing decides whether a test passes: a busy machine is slow, not wrong.
settings.register_profile("artificer", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("artificer")

MAY_SKIP = (
    "ARTIFICER_CRASH_ALL",  # hours
    "Landlock holds these from ABI",
    "this machine allows no tracing",
    "openat2 needs Linux",
)
"""Why a test may be skipped in CI: what the machine's kernel, not a missing program, decides."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test is a failure, for it proves nothing there."""
    report = yield
    if report.skipped and os.environ.get("CI") and isinstance(report.longrepr, tuple):
        _, _, reason = report.longrepr
        if not any(word in reason for word in MAY_SKIP):
            report.outcome = "failed"
            report.longrepr = f"{reason} (in CI a test that is skipped has failed)"
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share the embedded model's server run one after the other."""
    for item in items:
        if item.get_closest_marker("real_model"):
            item.add_marker(pytest.mark.xdist_group("real_model"))
