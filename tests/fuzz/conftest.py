"""Lets these tests find the builders and corpora of the others, also where they run alone."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("artifacts", "render", "tools"):
    place = str(Path(__file__).parents[1] / folder)
    if place not in sys.path:
        sys.path.append(place)
