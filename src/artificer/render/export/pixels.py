"""Pictures of pixels, drawn from SVG.

A chart is drawn in this process: its shapes are ours. A model's drawing is drawn in a process of
its own. An allow-list cannot say what a drawing costs: a pattern with a tile of a million pixels
a side makes the renderer, which is native code, end the process that it runs in.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from artificer.errors import InvariantError, MissingExtraError
from artificer.render.export import png_program

_SEEN = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "LD_LIBRARY_PATH")
"""The environment variables that say where fonts and libraries are."""

_PATIENCE = 3 * png_program.MAX_SECONDS
"""Seconds until a picture is given up on a machine that has other work."""


def rendered(svg: str, scale: float, *, is_ours: bool) -> bytes:
    """Draw an SVG as PNG.

    Raises:
        MissingExtraError: the extra ``charts`` is not installed.
        InvariantError: it cannot be drawn.
    """
    found = find_spec("vl_convert")
    if found is None or found.origin is None:
        raise MissingExtraError("charts", needed_for="Drawing a PNG")
    if is_ours:
        return _here(svg, scale)
    return _apart(svg, scale, Path(found.origin).parents[1])


def _here(svg: str, scale: float) -> bytes:
    import vl_convert

    try:
        return bytes(vl_convert.svg_to_png(svg, scale))
    except (ValueError, RuntimeError) as error:
        raise InvariantError(f"A chart cannot be written as PNG: {error}.") from error


def _apart(svg: str, scale: float, folder: Path) -> bytes:
    program = [sys.executable, "-I", "-S", str(Path(png_program.__file__))]
    try:
        done = subprocess.run(
            [*program, str(folder), repr(scale)],
            input=svg.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _SEEN if name in os.environ},
            cwd="/",
            timeout=_PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InvariantError(
            "A drawing cannot be written as PNG: it costs too much, or has no size.",
            hint="Save it as SVG instead.",
        ) from error
    return done.stdout
