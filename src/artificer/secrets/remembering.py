"""A short-lived cache for the answers of a source that is not local."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from msgspec import Struct

from artificer.errors import OperatorError
from artificer.ports import SecretSource
from artificer.secrets.answers import listed, resolved

KEPT_S, ABSENT_S = 60.0, 10.0
"""Seconds for which an answer holds: a value, or that there is none or that nobody answers."""

MAX_KEPT = 10_000
"""The most answers that are kept."""


class _Answer(Struct, frozen=True):
    until: float
    value: str | None = None
    error: str = ""
    hint: str | None = None

    def __repr__(self) -> str:
        return f"_Answer({self.error})"

    def read(self) -> str | None:
        if self.error:
            raise OperatorError(self.error, hint=self.hint)
        return self.value


class Remembering:
    """A source whose answers are kept. A value that is replaced is noticed within a minute."""

    local = False

    def __init__(self, source: SecretSource, now: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._now = now
        self._lock = threading.Lock()
        self._answers: dict[str, _Answer] = {}
        self._listed: tuple[float, Mapping[str, str]] = (float("-inf"), {})

    def resolve(self, name: str) -> str | None:
        """Return the value, as it is or was a short while ago."""
        answer = self._answers.get(name)
        if answer is None or answer.until <= self._now():
            answer = self._ask(name)
            with self._lock:
                if len(self._answers) >= MAX_KEPT:
                    self._answers.clear()
                self._answers[name] = answer
        return answer.read()

    def place(self, name: str) -> str:
        """Return where the source looks."""
        return self._source.place(name)

    def at_hand(self) -> Mapping[str, str]:
        """Return what the source lists, as it does or did a short while ago."""
        until, values = self._listed
        if until > self._now():
            return values
        try:
            values = listed(self._source)
            until = self._now() + KEPT_S
        except OperatorError:  # resolving a value raises it again
            until = self._now() + ABSENT_S
        with self._lock:
            self._listed = until, values
        return values

    def _ask(self, name: str) -> _Answer:
        try:
            value = resolved(self._source, name)
        except OperatorError as error:
            return _Answer(self._now() + ABSENT_S, error=error.message, hint=error.hint)
        return _Answer(self._now() + (KEPT_S if value else ABSENT_S), value)
