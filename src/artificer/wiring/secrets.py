"""The secrets of our environment, which are taken out of tool results and model replies."""

from __future__ import annotations

import os

from artificer.backends.secrets.forms import MIN_ENCODED
from artificer.backends.secrets.names import well_known
from artificer.backends.secrets.redaction import Redactor, all_secrets
from artificer.config import Config
from artificer.providers.profiles import profiles

VENDOR_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
"""The variables in which the SDKs look for their vendors' keys."""


def _secrets(config: Config) -> dict[str, str]:
    keys = [name for own in config.providers.values() if (name := own.api_key_env)]
    keys += [profile.key for profile in profiles().values()]
    return well_known(os.environ) | all_secrets(os.environ, [*VENDOR_KEYS.values(), *keys])


def redactor_of_everything(config: Config) -> Redactor:
    """Return what takes every secret of our environment out of what a run reads of itself."""
    return Redactor(_secrets(config))


def redactor_of(config: Config) -> Redactor:
    """Return what removes the secrets of our environment from the results of tools.

    The model works with those results: a short secret would be found where it is not one, and so
    would the name with which a browser logs in, because pages greet with it.
    """
    hidden = {
        name: value
        for name, value in _secrets(config).items()
        if len(value) >= MIN_ENCODED and not name.endswith("_USERNAME")
    }
    return Redactor(hidden)
