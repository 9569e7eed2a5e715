"""``python -m artificer``."""

from __future__ import annotations

from artificer.cli.main import main

main()
