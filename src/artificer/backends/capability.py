"""The registration of a backend that no manifest declares: its tools come with the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from msgspec import Struct

from artificer.backends.context import ExecutorContext
from artificer.ports import Executor

Granted = TypeVar("Granted")


class Capability(Struct, Generic[Granted], frozen=True, kw_only=True):
    """Makes the executors of what a run is granted: functions, a folder, workspaces, artifacts."""

    executors: Callable[[Granted, ExecutorContext], Iterable[Executor]]
