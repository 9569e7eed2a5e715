"""The folder of a run's views."""

from __future__ import annotations

from pathlib import Path

from artificer.config import Config


def views_folder(config: Config, run_id: str) -> Path:
    """Return the folder that the views of a run are written to."""
    return config.project_folder / "runs" / run_id
