"""Every test here has the interpreter itself as ``python``."""

from __future__ import annotations

from quick_python import quick_python

__all__ = ["quick_python"]
