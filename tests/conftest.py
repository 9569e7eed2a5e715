"""Settings for every test: examples, sampling, order, and tests that cannot run here.

A commit's tests are the same every time: the examples of properties are drawn with its seed, which
the run prints (see sampling.py). `make mutants` runs the tests once for each mutant: with a fifth
of the examples, always the same, and the properties last.
"""

from __future__ import annotations

import gc
import itertools
import os
import re
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, is_hypothesis_test, settings

import in_memory
from needs import MISSING
from sampling import EXPLORE, SEED, one_of

if TYPE_CHECKING:
    from object_server import ObjectServer
    from postgres_server import PostgresServer
    from xdist.remote import Producer

    from scheduling import Neighbours

# No timing decides whether a test passes: a busy machine is slow, not wrong.
_ALWAYS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("artificer", _ALWAYS, database=None)
settings.register_profile("explore", _ALWAYS, print_blob=True)
MUTANTS = "MUTANT_UNDER_TEST" in os.environ
settings.register_profile(
    "mutants",
    derandomize=True,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),  # one process runs a test more than once
)
settings.load_profile("mutants" if MUTANTS else "explore" if EXPLORE else "artificer")

SHARE = 0.5
"""The share of a property's examples that one commit draws; the next commit draws others."""

LONGEST_ID = 100
"""How much of a parameter names its test. Some are hostile texts of megabytes."""

MAY_SKIP = (
    "ARTIFICER_CRASH_ALL",  # hours
    "Landlock holds these from ABI",
    "this machine allows no tracing",
    "openat2 needs Linux",
    "run as root",  # to mount, or to become another user
)
"""Why a test may be skipped in CI: what the machine or its user, not a missing program, decides."""

FOLDERS = itertools.count()
"""The numbers of the folders for tests, each of which has another one."""

FIRST = (
    "tests/runtime/builds/",
    "tests/cli/",
    "tests/docs/",
    "tests/bench/",
    "tests/render/test_export",
    "tests/test_demo.py",
    "tests/test_mcp_conformance.py",
    "tests/test_plugin.py",
    "tests/test_wheels.py",
)
"""Where the longest tests are. They start first, so that no worker is left with one at the end."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Seed Hypothesis, unless the command line does, and collect no garbage before the tests.

    Temporary files are in memory, also those of the workers.
    """
    gc.disable()
    if not hasattr(config, "workerinput"):
        in_memory.use(config)
    if not (MUTANTS or EXPLORE or config.option.hypothesis_seed):
        config.option.hypothesis_seed = str(SEED)
    if hasattr(config, "workerinput") and config.option.durations is None:
        config.pluginmanager.import_plugin("reporting")


def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than processors: many tests wait for a disk, a process or a page."""
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Neighbours | None:
    """Send a worker several tests of a module at once."""
    if config.option.dist != "loadgroup":
        return None
    from scheduling import Neighbours

    config.option.loadscopereorder = False  # or a long test that is alone in its unit begins last
    return Neighbours(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Print the seed, also in a quiet run, and have workers import Artificer once for all."""
    if not hasattr(session.config, "workerinput"):
        if getattr(session.config.option, "tx", None):
            from forked_workers import use

            use(session.config)
        drawn = f"explores, {EXPLORE:g} times as many examples" if EXPLORE else f"seed {SEED}"
        session.config.get_terminal_writer().line(
            f"{drawn} (ARTIFICER_SEED={SEED} draws the same samples)"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test is a failure, for it proves nothing there."""
    report = yield
    _fail_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same holds for a module that is skipped as a whole."""
    report = yield
    _fail_in_ci(report)
    return report


def _fail_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and os.environ.get("CI") and isinstance(report.longrepr, tuple):
        _, _, reason = report.longrepr
        if not any(word in reason for word in MAY_SKIP):
            report.outcome = "failed"
            report.longrepr = f"{reason} (in CI a test that is skipped has failed)"


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the output with what is missing here, and the command that installs it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    missing: Counter[tuple[str, str]] = Counter()
    for report in reporter.stats.get("skipped", ()):
        if found := MISSING.search(report.longrepr[2]):
            missing[found["name"].removeprefix("Skipped: "), found["command"]] += 1
    for (name, command), count in sorted(missing.items()):
        reporter.write_line(f"{count} skipped for want of {name}: {command}")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a long value by its beginning: a test's name goes with each of its reports."""
    if not isinstance(val, str | bytes) or len(val) <= LONGEST_ID:
        return None
    return f"{ascii(val[:LONGEST_ID])[:LONGEST_ID]}... {len(val)}"


def pytest_collection_finish() -> None:
    """Collect garbage again, but seldom, and nothing that is alive now: it lives until the end.

    Collections took a fifth of the time of the processes that run tests.
    """
    gc.freeze()
    gc.set_threshold(20_000, 10, 100)
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put long tests first, tests that share a server on one worker, and draw the examples."""
    _draw_tests(config, items)
    for item in items:
        if item.get_closest_marker("real_model"):
            item.add_marker(pytest.mark.xdist_group("real_model"))
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
    tests = [getattr(item, "obj", None) for item in items]
    if MUTANTS:
        _draw(tests, 0.2)
        items.sort(key=lambda item: is_hypothesis_test(getattr(item, "obj", None)))
    else:
        _draw(tests, EXPLORE or SHARE)


def _draw_tests(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave one of the tests marked with the same name: another one for the next commit."""
    marked: dict[str, list[pytest.Item]] = {}
    for item in items:
        if marker := item.get_closest_marker("one_of"):
            marked.setdefault(marker.args[0], []).append(item)
    drawn = {item for name, those in marked.items() for item in one_of(those, purpose=name)}
    left_out = {item for those in marked.values() for item in those} - drawn
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=[*left_out])


def _draw(tests: list[Any], times: float) -> None:
    """Draw that many times the usual examples, also where a test says how many it draws."""
    for test in {getattr(test, "__func__", test) for test in tests}:
        if is_hypothesis_test(test) and not hasattr(test, "drawn_times"):
            usual = test._hypothesis_internal_use_settings
            count = max(1, int(usual.max_examples * times))
            test._hypothesis_internal_use_settings = settings(usual, max_examples=count)
            test.drawn_times = times


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for a test. pytest's own fixture lists those of all earlier tests to number it."""
    name = re.sub(r"\W", "_", request.node.name)[:26]
    path = tmp_path_factory.getbasetemp() / f"{name}{next(FOLDERS)}"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server. Tests that stop it start it again."""
    from postgres_server import postgres

    with postgres() as server:
        yield server


@pytest.fixture(scope="session")
def object_server() -> Iterator[ObjectServer]:
    """An S3 server, which the environment names."""
    from object_server import ObjectServer

    with ObjectServer.running() as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", server.endpoint)
        environment.setenv("AWS_ALLOW_HTTP", "true")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
            environment.setenv(name, "test")
        yield server
