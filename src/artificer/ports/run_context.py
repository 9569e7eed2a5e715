"""The context of a call, for functions that are tools or write instructions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from artificer.values.value_type import NamedType

D = TypeVar("D", covariant=True)

ProgressReport = Callable[[str, int | None, int | None], None]
"""Receives a progress message, how much is done, and the total."""


def _no_report(message: str, done: int | None, total: int | None) -> None:
    """Ignore the progress."""


class RunContext(Struct, Generic[D], metaclass=NamedType, frozen=True):
    """The context in which a run calls a function of the program.

    >>> @artificer.tool(effect="keyed")
    ... def pay(ctx: RunContext[Bank], amount: int) -> str:
    ...     \"\"\"Pay an amount.\"\"\"
    ...     ctx.progress("Contacting the bank")
    ...     return ctx.deps.transfer(amount, idempotency_key=ctx.key)

    ``deps`` are the dependencies that the program passed to the run. Neither they nor anything else
    of the context is shown to the model or journaled. ``key`` is the call's idempotency key: the
    same after a crash, different for every other call. ``fencing_token`` is higher for every later
    owner of the run: a service that keeps the highest one for a key can refuse the calls of a
    former owner. ``call_id`` and ``key`` are empty for instructions, and the token is 0.
    """

    deps: D
    run_id: str
    call_id: str = ""
    key: str = ""
    tool: str = ""
    _report: ProgressReport = _no_report
    fencing_token: int = 0

    @property
    def logger(self) -> logging.LoggerAdapter[Any]:
        """A logger, ``artificer.tools.NAME``, whose records carry ``run_id`` and ``call_id``."""
        name = f"artificer.tools.{self.tool}" if self.tool else "artificer.instructions"
        extra = {"run_id": self.run_id, "call_id": self.call_id}
        return logging.LoggerAdapter(logging.getLogger(name), extra)

    def progress(self, message: str, done: int | None = None, total: int | None = None) -> None:
        """Report the progress of the call to those who follow the run. Works in any thread.

        >>> ctx.progress("Reading pages", done=3, total=10)
        """
        self._report(message, done, total)
