"""The commands that serve the studio, and make its tokens."""

from __future__ import annotations

from inspect import cleandoc
from typing import Literal

import click

from artificer.cli.commands.numbers import WholeOption
from artificer.cli.commands.shared import ExecutionOptions, json_flag
from artificer.cli.declare import Command, argument, option, options

SCOPES = ("read", "act", "approve", "work", "admin")


@options
class StudioOptions(ExecutionOptions):
    """Watch runs, decide and look back in the browser.

    Prints an address with a key that opens the studio on this machine. Ctrl-C stops it; runs in
    progress can be resumed, here or with `artificer resume`. The word `serve` is optional.

    --host lets other machines reach it. That needs a token (`artificer studio token new`), or a
    reverse proxy that identifies people ([studio] in artificer.toml) and also encrypts.

    \b
    Examples:
      artificer studio
      artificer studio --run last
      artificer studio --port 9000 --no-open
    """

    run: str | None = option(
        "--run", metavar="RUN", default=None, help="Open the page of this run."
    )
    port: int = option(
        type=WholeOption(0, 65535), default=8642, show_default=True, help="0 picks a free one."
    )
    host: str = option(
        default="127.0.0.1", show_default=True, metavar="ADDRESS", help="The address to listen on."
    )
    agents: tuple[str, ...] = option(
        "--agent",
        metavar="MODULE:NAME",
        multiple=True,
        help="Offer this Agent in a Python module, here or installed; repeatable.",
    )
    log_format: Literal["text", "json"] = option(
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="json: one JSON object per line on stderr.",
    )
    open_browser: bool = option(
        "--open/--no-open", default=True, help="Open the address in a browser."
    )


class TokenOption:
    """The token that a command is about."""

    token: str = argument(metavar="ID")


@options
class NewTokenOptions:
    """Create a token called NAME for a program that uses the studio's API, and print it once.

    Only a digest of it is kept. Its name and id are recorded with what it does. `read` can look,
    `act` start, steer and end runs, `approve` decide about calls and plans, `work` execute
    jobs (`artificer worker --api`), `admin` do everything.

    \b
    Examples:
      artificer studio token new dashboard
      artificer studio token new ci --scope read --scope act --days 30
    """

    name: str = argument()
    scope: tuple[Literal["read", "act", "approve", "work", "admin"], ...] = option(
        type=click.Choice(SCOPES),
        multiple=True,
        default=("read",),
        show_default=True,
        help="What it may do; repeatable.",
    )
    days: int = option(
        type=WholeOption(1, 366), default=90, show_default=True, help="How long it is valid."
    )


@options
class ListTokensOptions:
    """List the tokens of this project: id, rights, expiry, name."""

    as_json: bool = json_flag("Print a JSON array.")


@options
class RotateTokenOptions(TokenOption):
    """Replace a token with a new one of the same name, rights and lifetime, and print it once.

    \b
    Example:
      artificer studio token rotate 3f9a0c1e --keep-hours 24
    """

    keep_hours: int = option(
        type=WholeOption(0, 24 * 31),
        default=0,
        show_default=True,
        help="How long the old one stays valid.",
    )


@options
class RevokeTokenOptions(TokenOption):
    """Revoke a token at once, even in a running studio."""


class StudioGroup(click.Group):
    """Serves, unless another command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Nothing, and options other than ``--help``, are for ``serve``."""
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["serve", *args]
        return super().parse_args(ctx, args)


token = click.Group(
    "token",
    help="Create, list, replace and revoke tokens for programs that use the studio's API.",
    commands=[
        Command("new", NewTokenOptions, "studio.tokens:new"),
        Command("list", ListTokensOptions, "studio.tokens:show"),
        Command("rotate", RotateTokenOptions, "studio.tokens:rotate"),
        Command("revoke", RevokeTokenOptions, "studio.tokens:revoke"),
    ],
)

studio = StudioGroup(
    "studio",
    help=cleandoc(
        """Watch runs, decide and look back in the browser.

        `artificer studio` prints an address with a key that opens the studio on this machine; its
        options are those of `artificer studio serve`.

        \b
        Examples:
          artificer studio
          artificer studio --port 9000 --no-open
          artificer studio token new dashboard
        """
    ),
    commands=[Command("serve", StudioOptions, "studio.serve:serve"), token],
)
