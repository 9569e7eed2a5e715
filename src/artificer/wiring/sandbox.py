"""The sandbox of a configuration, for the programs of manifests."""

from __future__ import annotations

from pathlib import Path

from artificer.backends.sandbox.grants import Grants
from artificer.config import FILE_NAME, Config


def grants_of(config: Config) -> Grants:
    """Return the grants of a sandbox; the configuration itself is never theirs to write."""
    wanted = config.sandbox
    return Grants(
        mode=wanted.mode or "off",
        writable=wanted.writable,
        readable=wanted.readable,
        network=wanted.network,
        kept=_settings_file(),
    )


def _settings_file() -> tuple[Path, ...]:
    try:
        return (Path(FILE_NAME).absolute(),)
    except FileNotFoundError:  # the working directory was removed, and the file with it
        return ()
