"""Conformance tests for clocks, to run with your own.

Subclass `ClockSuite` in a test module and give it a pytest fixture ``clock``.
"""

from __future__ import annotations

import re

from artificer.ports import Clock

READINGS = 200

_EARLIEST = 315_532_800_000
"""1980 in milliseconds. Today's time in seconds would look like a time in 1970."""


class ClockSuite:
    """The behavior of the `Clock` port. Subclass it and give it a fixture ``clock``."""

    def test_the_time_is_whole_milliseconds_since_1970(self, clock: Clock) -> None:
        """Not seconds, not nanoseconds, and not a float, which records do not hold."""
        now = clock.now()
        assert type(now) is int
        assert _EARLIEST <= now < 10 * 10**12, "milliseconds of the years 1980 to 2286"

    def test_time_never_goes_back(self, clock: Clock) -> None:
        """Time may stand still, but it never goes back."""
        readings = [clock.now() for _ in range(READINGS)]
        assert readings == sorted(readings)

    def test_run_ids_are_plain_words(self, clock: Clock) -> None:
        """Run ids are used as file names and in URLs."""
        for _ in range(READINGS):
            assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", clock.new_run_id())

    def test_every_run_id_is_new(self, clock: Clock) -> None:
        """Two runs that start in the same millisecond have different ids."""
        ids = [clock.new_run_id() for _ in range(READINGS)]
        assert len(set(ids)) == READINGS

    def test_run_ids_sort_by_time(self, clock: Clock) -> None:
        """A later id sorts after an earlier one."""
        first, began = clock.new_run_id(), clock.now()
        for _ in range(1_000_000):
            if clock.now() > began:
                assert clock.new_run_id() > first
                return
