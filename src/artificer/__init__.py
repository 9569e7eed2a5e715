"""Artificer: a language model acts and delivers only through typed tool calls.

Every call is checked before it runs, recorded before it acts, and can be replayed after.
"""

from __future__ import annotations

__version__ = "0.1.0"
