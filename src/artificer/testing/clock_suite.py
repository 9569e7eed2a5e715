"""Conformance tests for clocks, to run with your own.

Subclass `ClockSuite` in a test module and give it a pytest fixture ``clock``.
"""

from __future__ import annotations

import re

from artificer.ports import Clock

READINGS = 200

_EARLIEST = 315_532_800_000
"""1980 in milliseconds. The seconds of today would be a moment of 1970."""


class ClockSuite:
    """The behaviour of the `Clock` port. Subclass it and give it a fixture ``clock``."""

    def test_the_time_is_whole_milliseconds_since_1970(self, clock: Clock) -> None:
        """Neither seconds nor nanoseconds, and not a float, which no record holds."""
        now = clock.now()
        assert type(now) is int
        assert _EARLIEST <= now < 10 * 10**12, "milliseconds of the years 1980 to 2286"

    def test_time_never_goes_back(self, clock: Clock) -> None:
        """It may stand still."""
        readings = [clock.now() for _ in range(READINGS)]
        assert readings == sorted(readings)

    def test_run_ids_are_plain_words(self, clock: Clock) -> None:
        """They are names of files and parts of addresses."""
        for _ in range(READINGS):
            assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", clock.new_run_id())

    def test_every_run_id_is_new(self, clock: Clock) -> None:
        """Two runs of one millisecond have two ids."""
        ids = [clock.new_run_id() for _ in range(READINGS)]
        assert len(set(ids)) == READINGS

    def test_run_ids_sort_by_time(self, clock: Clock) -> None:
        """An id of a later moment comes after an earlier one."""
        first, began = clock.new_run_id(), clock.now()
        for _ in range(1_000_000):
            if clock.now() > began:
                assert clock.new_run_id() > first
                return
