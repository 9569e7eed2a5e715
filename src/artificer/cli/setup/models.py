"""``artificer models``: the providers of the project, their keys and their models."""

from __future__ import annotations

from dataclasses import asdict

from artificer.cli.commands.setup import ModelsOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.setup.providers import SUGGESTED, ProviderFinding, provider_findings
from artificer.cli.terminal.console import note, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.table import print_table
from artificer.config import Config
from artificer.prices import priced_models

COLUMNS = ("PROVIDER", "READY", "DETAIL", "MODELS")

EXAMPLES = 3
"""Models of a provider that the table shows; --json shows all that are known."""


def models(settings: Settings, options: ModelsOptions) -> Exit:
    """Print the providers as a table or as JSON. Nothing is sent anywhere."""
    config = configuration(settings)
    known = _known(config)
    found = provider_findings(config)
    if options.as_json:
        listed = [{**asdict(f), "models": known.get(f.name, [])} for f in found]
        default = next(iter(config.default_models), None)
        fallbacks = list(config.default_models[1:])
        out_json({"default": default, "fallbacks": fallbacks, "providers": listed})
        return Exit.OK
    print_table([COLUMNS, *(_row(finding, known.get(finding.name, [])) for finding in found)])
    if config.default_models:
        first, *fallbacks = config.default_models
        note(f"default: {first}")
        if fallbacks:
            note(f"fallbacks, when it does not answer: {', '.join(fallbacks)}")
    else:
        note("no default: use --model, $ARTIFICER_MODEL, or model = in artificer.toml")
    return Exit.OK


def _known(config: Config) -> dict[str, list[str]]:
    """The models that settings or our table name, by their providers."""
    named = [
        *config.default_models,
        *config.prices,
        *config.context_tokens,
        *SUGGESTED,
        *priced_models(),
    ]
    found: dict[str, list[str]] = {}
    for model in dict.fromkeys(named):
        found.setdefault(model.partition("/")[0], []).append(model)
    return found


def _row(finding: ProviderFinding, models: list[str]) -> tuple[str, ...]:
    ready = {True: "yes" if finding.checked else "not checked", None: "-", False: "no"}[finding.ok]
    detail = f"{finding.detail}: {finding.hint}" if finding.hint else finding.detail
    more = " …" if len(models) > EXAMPLES else ""
    return (finding.name, ready, detail, ", ".join(models[:EXAMPLES]) + more)
