"""A program that draws one SVG as PNG: ``python -I -S png_program.py FOLDER SCALE``.

It reads the drawing from its standard input and writes the picture to its standard output. It
imports nothing of ours, and the renderer from the passed folder. What it may use is limited
before the drawing is read.
"""

from __future__ import annotations

import contextlib
import sys

MAX_MEMORY = 1024 * 1024 * 1024
"""Bytes of memory; the largest picture needs a quarter of them."""

MAX_SECONDS = 20
"""Seconds of the processor."""


def main(folder: str, scale: str) -> None:
    """Draw the picture."""
    _limit()
    sys.path.append(folder)
    import vl_convert

    drawing = sys.stdin.buffer.read().decode()
    sys.stdout.buffer.write(vl_convert.svg_to_png(drawing, float(scale)))


def _limit() -> None:
    import resource

    limits = (
        (resource.RLIMIT_AS, MAX_MEMORY),
        (resource.RLIMIT_CPU, MAX_SECONDS),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, value in limits:
        with contextlib.suppress(OSError, ValueError):  # the system has a lower one, or none
            resource.setrlimit(kind, (value, value))


if __name__ == "__main__":
    main(*sys.argv[1:])
