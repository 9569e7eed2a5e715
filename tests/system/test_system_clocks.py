"""Every clock of ours behaves as the port says, and the suite notices those that do not."""

from __future__ import annotations

import time
from typing import Any

import pytest

from artificer.errors import OperatorError
from artificer.ports import Clock
from artificer.system.clock import SystemClock
from artificer.testing.clock_suite import ClockSuite
from artificer.testing.rig import SteppingClock
from suite_faults import faults

pytestmark = pytest.mark.req("suite-clock")


class TestSystemClock(ClockSuite):
    @pytest.fixture
    def clock(self) -> Clock:
        return SystemClock()


class TestSteppingClock(ClockSuite):
    @pytest.fixture(params=[1, 1000])
    def clock(self, request: pytest.FixtureRequest) -> Clock:
        return SteppingClock(step=request.param)


@pytest.mark.parametrize("year", [1965, 10_500])
def test_a_clock_without_a_date_is_refused(monkeypatch: pytest.MonkeyPatch, year: int) -> None:
    """A run began all the same before 1970, and ended at once by its time limit."""
    monkeypatch.setattr(time, "time_ns", lambda: int((year - 1969.5) * 31_556_952e9))
    with pytest.raises(OperatorError, match=f"about the year {year}"):
        SystemClock()


class Seconds(SystemClock):
    def now(self) -> int:
        return super().now() // 1000


class Fractions(SystemClock):
    def now(self) -> Any:
        return time.time() * 1000


class Backwards(SteppingClock):
    def __init__(self) -> None:
        super().__init__(step=-1)


class Same(SystemClock):
    def new_run_id(self) -> str:
        return "run"


class Paths(SystemClock):
    def new_run_id(self) -> str:
        return "../" + super().new_run_id()


class Unsorted(SystemClock):
    def __init__(self) -> None:
        super().__init__()
        self.left = 10**6

    def new_run_id(self) -> str:
        self.left -= 1
        return f"run-{self.left}"


@pytest.mark.parametrize(
    ("wrong", "noticed_by"),
    [
        (Seconds, "test_the_time_is_whole_milliseconds_since_1970"),
        (Fractions, "test_the_time_is_whole_milliseconds_since_1970"),
        (Backwards, "test_time_never_goes_back"),
        (Same, "test_every_run_id_is_new"),
        (Paths, "test_run_ids_are_plain_words"),
        (Unsorted, "test_run_ids_sort_by_time"),
    ],
)
async def test_a_wrong_clock_is_noticed(wrong: Any, noticed_by: str) -> None:
    assert await faults(ClockSuite, noticed_by, clock=wrong) == {noticed_by}
