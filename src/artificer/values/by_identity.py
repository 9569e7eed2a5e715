"""A cache for what follows from objects that nobody changes, found by the objects themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class ByIdentity(Generic[T]):
    """Keeps what ``make`` returns for objects, without a look at their content.

    The objects are kept alive, so that no other object has their identity. At ``size`` entries it
    begins again.
    """

    def __init__(self, make: Callable[..., T], size: int = 512) -> None:
        self._make = make
        self._size = size
        self._found: dict[tuple[int, ...], tuple[tuple[object, ...], T]] = {}

    def __call__(self, *objects: object) -> T:
        """Return what was made for these objects, or make it."""
        ids = tuple(map(id, objects))
        found = self._found.get(ids)
        if found is None:
            if len(self._found) >= self._size:
                self._found.clear()
            found = self._found[ids] = (objects, self._make(*objects))
        return found[1]
