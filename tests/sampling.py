"""The seed of this run, and samples drawn with it.

Each commit draws other examples, and the same ones whenever its tests run: the seed is its hash.
``ARTIFICER_SEED`` names another one. ``ARTIFICER_EXPLORE=10`` (`make test-all`) takes all that is
sampled here, and ten times as many examples of each property, others in every run.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

EXPLORE = float(os.environ.get("ARTIFICER_EXPLORE", "0"))


def _seed() -> int:
    named = os.environ.get("ARTIFICER_SEED")
    if named is None:
        here, command = Path(__file__).parent, ["git", "rev-parse", "--short=8", "HEAD"]
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
        named = str(int(done.stdout.strip() or "0", 16))
    os.environ["ARTIFICER_SEED"] = named  # for the workers of pytest-xdist
    return int(named)


SEED = _seed()


def sample(items: Sequence[T], count: int, *, purpose: Hashable) -> list[T]:
    """Return so many of the items, in their order. All of them when exploring.

    The first and the last are always among them. ``purpose`` keeps samples of equal lengths apart.
    """
    if EXPLORE or len(items) <= count:
        return list(items)
    chance = random.Random(f"{SEED} {purpose}")
    inner = chance.sample(range(1, len(items) - 1), count - 2)
    return [items[number] for number in sorted({0, len(items) - 1, *inner})]


def one_of(items: Sequence[T], *, purpose: Hashable) -> list[T]:
    """Return one of the items. All of them when exploring."""
    return list(items) if EXPLORE else [random.Random(f"{SEED} {purpose}").choice(items)]
