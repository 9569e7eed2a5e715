"""Heads that someone kept elsewhere, and whether today's journal continues from them.

What is consistent in itself can still have been rewritten whole. Only a head that its writer could
not reach tells.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, Self

from msgspec import Struct, field

from artificer.errors import OperatorError
from artificer.ports import Head

WORLD = "(world)"
"""The name of the chain over all records and notes, in a list of heads. No run is called so."""

Relation = Literal["same", "extends", "diverged", "missing"]


class KeptHeads(Struct, frozen=True):
    """The head of each run, and of the world's chain under the name WORLD.

    A seq of -1 is not known: releases before this one printed only hashes.
    """

    heads: dict[str, Head] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Self:
        """Read what ``artificer verify`` printed, with or without ``--json``.

        Or the last line of what ``artificer audit`` printed: it has the head of the world's chain.

        Raises:
            OperatorError: it is something else.
        """
        try:
            found = dict(_of_json(text) if text.lstrip().startswith("{") else _of_lines(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise OperatorError(
                f"The heads cannot be read: {error}.",
                hint="Pass a file written by `artificer verify` or `artificer verify --json`.",
            ) from error
        if not found:
            raise OperatorError("The file contains no heads.", hint="artificer verify > heads.txt")
        return cls(found)


class Compared(Struct, frozen=True):
    """A kept head, compared. ``now`` is the last record today, ``why`` what is wrong."""

    name: str
    kept: int
    now: int
    relation: Relation
    why: str = ""


def _of_json(text: str) -> Iterator[tuple[str, Head]]:
    value = json.loads(text)
    for run, head in value.get("heads", {}).items():
        yield run, _head(head)
    if "world" in value:
        yield WORLD, _head(value["world"])


def _head(value: Any) -> Head:
    if isinstance(value, str):
        return Head(seq=-1 if value else 0, hash=value)
    return Head.from_json(value)


def _of_lines(text: str) -> Iterator[tuple[str, Head]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("problem: "):
            continue
        name, *seq, hash_ = line.split()
        if len(seq) > 1 or not hash_.startswith("sha256:"):
            raise ValueError(f"line {number} is not RUN SEQ HASH")
        yield name, Head(seq=int(seq[0]) if seq else -1, hash=hash_)


def compare_head(name: str, kept: Head, hashes: list[str] | None) -> Compared:
    """Compare a kept head with the hashes of all records that the chain has today.

    None is a run that is not there.
    """
    if hashes is None:
        return Compared(name, kept.seq, 0, "missing", f"{_whose(name)} is gone.")
    now, seq = len(hashes), kept.seq
    if seq < 0:
        seq = hashes.index(kept.hash) + 1 if kept.hash in hashes else now + 1
    if seq > now:
        why = f"{_whose(name)} ends at {now}; the head that was kept is not in it."
        return Compared(name, kept.seq, now, "missing", why)
    if seq and hashes[seq - 1] != kept.hash:
        why = f"{_whose(name)} has another hash at {seq} than the one that was kept."
        return Compared(name, seq, now, "diverged", why)
    return Compared(name, seq, now, "same" if seq == now else "extends")


def compare_world(kept: Head, now: int, then: str | None) -> Compared:
    """Compare the world's chain: ``then`` is its hash today at the kept position."""
    if then is None:
        why = f"{_whose(WORLD)} ends at {now}; the head that was kept is not in it."
        return Compared(WORLD, kept.seq, now, "missing", why)
    if then != kept.hash:
        why = f"{_whose(WORLD)} has another hash at {kept.seq} than the one that was kept."
        return Compared(WORLD, kept.seq, now, "diverged", why)
    return Compared(WORLD, kept.seq, now, "same" if kept.seq == now else "extends")


def _whose(name: str) -> str:
    return "The world's chain" if name == WORLD else f"Run {name}"
