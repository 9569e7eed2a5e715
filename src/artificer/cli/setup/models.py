"""``artificer models``: the providers of the project, their keys and their models."""

from __future__ import annotations

from dataclasses import asdict

from artificer.cli.commands.setup import ModelsOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.table import print_table
from artificer.wiring.local_servers import ask_local
from artificer.wiring.provider_findings import ProviderFinding

COLUMNS = ("PROVIDER", "READY", "DETAIL", "MODELS")

EXAMPLES = 3
"""Models of a provider that the table shows; --json shows all that are known."""


async def models(settings: Settings, options: ModelsOptions) -> Exit:
    """Print the providers as a table or as JSON. Only servers of this machine are asked."""
    config = configuration(settings)
    found = await ask_local(config)
    if options.as_json:
        listed = [{**asdict(entry.finding), "models": entry.models} for entry in found]
        default = next(iter(config.default_models), None)
        fallbacks = list(config.default_models[1:])
        out_json({"default": default, "fallbacks": fallbacks, "providers": listed})
        return Exit.OK
    print_table([COLUMNS, *(_row(entry.finding, entry.models) for entry in found)])
    if config.default_models:
        first, *fallbacks = config.default_models
        note(f"default: {first}")
        if fallbacks:
            note(f"fallbacks, when it does not answer: {', '.join(fallbacks)}")
    else:
        note("no default: use --model, $ARTIFICER_MODEL, or model = in artificer.toml")
    return Exit.OK


def _row(finding: ProviderFinding, models: tuple[str, ...]) -> tuple[str, ...]:
    ready = {True: "yes" if finding.checked else "not checked", None: "-", False: "no"}[finding.ok]
    detail = f"{finding.detail}: {finding.hint}" if finding.hint else finding.detail
    more = " …" if len(models) > EXAMPLES else ""
    return (finding.name, ready, detail, ", ".join(models[:EXAMPLES]) + more)
