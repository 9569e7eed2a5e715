"""The results that a run's bindings may cite, by label."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from artificer.values.base import JsonObject, Problem
from artificer.values.text import clip

if TYPE_CHECKING:
    from artificer.artifacts.binding.source import Readable

_SHOWN = 12


class Sources:
    """The cited results of a run. Each is read once.

    ``labels`` are all that can be cited, in the order of their calls; ``data`` holds the bytes of
    those that a reply does cite. ``called`` are the tools that the reply calls, whose results are
    not there yet.
    """

    def __init__(
        self, labels: Sequence[str], data: Mapping[str, bytes], called: Collection[str]
    ) -> None:
        self._labels, self._data, self._called = labels, data, called
        self._read: dict[str, Readable | str] = {}

    def read(self, label: str, at: str) -> Readable | Problem:
        """Return the data of a call, or why there is none."""
        if label not in self._labels or label not in self._data:
            return self._unknown(label, at)
        if label not in self._read:
            from artificer.artifacts.binding.source import read_source

            self._read[label] = read_source(self._data[label])
        found = self._read[label]
        if isinstance(found, str):
            return Problem(pointer=at, message=found, actual=clip(label, 80))
        return found

    def _unknown(self, label: str, at: str) -> Problem:
        tool = label.rpartition("#")[0] or label
        shown = self._labels[-_SHOWN:]
        message = f"is not the label of a result with data. There are: {', '.join(shown) or 'none'}"
        if tool in self._called:
            message = (
                "is called in this same reply: wait for its result, then make this."
                f" Results so far: {', '.join(shown) or 'none'}"
            )
        return Problem(pointer=at, message=message, actual=clip(label, 80))


def cited_label(arguments: object) -> str | None:
    """Return the label that the arguments of a call cite, wherever their ``data`` is."""
    for owner in _owners(arguments):
        data = owner.get("data")
        label = data.get("call") if isinstance(data, dict) else None
        if isinstance(label, str):
            return label
    return None


def _owners(arguments: object) -> list[JsonObject]:
    if not isinstance(arguments, dict):
        return []
    return [arguments, *(member for member in arguments.values() if isinstance(member, dict))]
