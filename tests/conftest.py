"""What holds for every test.

A test run is the same every time: Hypothesis draws its examples from the test itself, not from
chance. ``ARTIFICER_EXPLORE=10`` draws ten times as many, others in every run (`make test-all`).
`make mutants` runs the tests once for each mutant: with a fifth of the examples, always the same,
and the properties last.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, is_hypothesis_test, settings

EXPLORE = float(os.environ.get("ARTIFICER_EXPLORE", "0"))

# No timing decides whether a test passes: a busy machine is slow, not wrong.
_ALWAYS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("artificer", _ALWAYS, derandomize=True)
settings.register_profile("explore", _ALWAYS, derandomize=False, print_blob=True)
MUTANTS = "MUTANT_UNDER_TEST" in os.environ
settings.register_profile(
    "mutants",
    derandomize=True,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),  # one process runs a test more than once
)
settings.load_profile("mutants" if MUTANTS else "explore" if EXPLORE else "artificer")

MAY_SKIP = (
    "ARTIFICER_CRASH_ALL",  # hours
    "Landlock holds these from ABI",
    "this machine allows no tracing",
    "openat2 needs Linux",
    "run as root",  # to mount, or to become another user
)
"""Why a test may be skipped in CI: what the machine or its user, not a missing program, decides."""


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
    tests = [getattr(item, "obj", None) for item in items]
    if MUTANTS:
        _draw(tests, 0.2)
        items.sort(key=lambda item: is_hypothesis_test(getattr(item, "obj", None)))
    elif EXPLORE:
        _draw(tests, EXPLORE)


def _draw(tests: list[Any], times: float) -> None:
    """Draw that many times the usual examples, also where a test says how many it draws."""
    for test in {getattr(test, "__func__", test) for test in tests}:
        if is_hypothesis_test(test) and not hasattr(test, "drawn_times"):
            usual = test._hypothesis_internal_use_settings
            most = max(1, int(usual.max_examples * times))
            test._hypothesis_internal_use_settings = settings(usual, max_examples=most)
            test.drawn_times = times
