"""The input and the output of every export."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from artificer.render.narrative import Key
from artificer.render.report import Report
from artificer.values.base import JsonObject

Files = dict[str, bytes]
"""Files by their path, with ``/`` between folders. The first is the one that was asked for."""

ExportStep = Callable[[str, int, int], None]
"""Called with a step, how many of its items are done, and how many there are."""


class Exported(Struct, frozen=True):
    """A report to export: what the page is made from, and each artifact's stored JSON."""

    report: Report
    payloads: Mapping[Key, JsonObject]


def quiet(step: str, done: int, total: int) -> None:
    """Report no step."""
