"""Threads that read values of new types at the same time, for the first time."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from msgspec import defstruct

from artificer.values.base import ValueReader

THREADS, ROUNDS, PARTS = 8, 4, 12

BODY = b'{"type":"b",' + b",".join(b'"p%d":{"m1":1}' % part for part in range(PARTS)) + b"}"


def first_readers(number: int) -> None:
    """Make types that nobody has read, and read a value of them in all threads at once."""
    kinds = []
    for tag in "ab":
        parts = []
        for part in range(PARTS):
            fields = [(f"m{member}", int | str | None, None) for member in range(6)]
            parts.append((f"p{part}", defstruct(f"Part{number}{tag}{part}", fields) | None, None))
        kinds.append(defstruct(f"Kind{number}{tag}", parts, tag=tag))
    reader = ValueReader[object](kinds[0] | kinds[1], "a value")
    start = threading.Barrier(THREADS)

    def read(_: int) -> object:
        start.wait()
        return reader.read(BODY)

    with ThreadPoolExecutor(THREADS) as pool:
        for found in pool.map(read, range(THREADS)):
            assert isinstance(found, kinds[1])


if __name__ == "__main__":
    sys.setswitchinterval(1e-6)
    for number in range(ROUNDS):
        first_readers(number)
