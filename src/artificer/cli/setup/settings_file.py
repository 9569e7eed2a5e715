"""Writing a commented ``artificer.toml``."""

from __future__ import annotations

import json
import re
from pathlib import Path

from artificer import cli
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.config import FILE_NAME
from artificer.errors import ConfigError
from artificer.system.files import packaged
from artificer.wiring.provider_findings import SUGGESTED, provider_findings
from artificer.wiring.providers import split_model

TEMPLATE = "setup/artificer.toml"


def write(settings: Settings, model: str | None, storage: str | None = None) -> None:
    """Write the file and print its path.

    Raises:
        ConfigError: there is one, or the model has no provider.
    """
    model = model or _ready(settings)
    if model is not None:
        split_model(model)
    path = Path(FILE_NAME).absolute()
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(commented(model, storage))
    except FileExistsError as error:
        raise ConfigError(f"{path} exists.", hint="Edit it, or move it away first.") from error
    out(str(path))
    if model is None:
        note("no provider is ready: see `artificer models`, then set model")


def commented(model: str | None, storage: str | None = None) -> str:
    """Return the file: every setting as a comment, but for those that are given."""
    text = packaged(cli, TEMPLATE)
    for name, value in (("model", model), ("storage", storage)):
        if value is not None:
            line = f"{name} = {json.dumps(value)}"
            text = re.sub(rf"^# {name} = .*$", lambda _: line, text, count=1, flags=re.MULTILINE)  # noqa: B023
    return text


def _ready(settings: Settings) -> str | None:
    """The configured model, or one of the first provider that is ready."""
    config = configuration(settings)
    if config.default_models:
        return config.default_models[0]
    ready = {finding.name for finding in provider_findings(config) if finding.ok}
    return next((model for model in SUGGESTED if split_model(model)[0] in ready), None)
