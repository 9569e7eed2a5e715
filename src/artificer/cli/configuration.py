"""Reading the configuration for a command."""

from __future__ import annotations

import logging
import sys

from artificer.cli.commands.shared import ExecutionOptions
from artificer.cli.settings import Settings
from artificer.config import Config, load_config


def configuration(settings: Settings, execution: ExecutionOptions | None = None) -> Config:
    """Read the configuration and start the logs. Options override it. Raises ConfigError."""
    if settings.verbose:
        _start_logs()
    return load_config(
        home=settings.home,
        project=settings.project,
        local_model=execution.local_model if execution else None,
        tools_compat=(execution.compat if execution else False) or None,
    )


def _start_logs() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("artificer")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
