"""``artificer studio token``: the tokens of programs."""

from __future__ import annotations

from artificer.cli.commands.studio import (
    ListTokensOptions,
    NewTokenOptions,
    RevokeTokenOptions,
    RotateTokenOptions,
)
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.studio.tokens import ApiToken, ApiTokens
from artificer.system.clock import SystemClock
from artificer.system.utc import utc_day


def new(settings: Settings, options: NewTokenOptions) -> Exit:
    """Create a token. Raises AuthorError for an invalid name."""
    return _shown(*_tokens(settings).new(options.name, options.scope, options.days))


def rotate(settings: Settings, options: RotateTokenOptions) -> Exit:
    """Replace a token. Raises NotFoundError."""
    return _shown(*_tokens(settings).rotate(options.token, options.keep_hours))


def revoke(settings: Settings, options: RevokeTokenOptions) -> Exit:
    """End a token. Raises NotFoundError."""
    token = _tokens(settings).revoke(options.token)
    note(f"the token {token.id} of {token.name} is revoked")
    return Exit.OK


def show(settings: Settings, options: ListTokensOptions) -> Exit:
    """List the tokens."""
    tokens, now = _tokens(settings).all(), SystemClock().now()
    if options.as_json:
        out_json([_without_digest(token) for token in tokens])
        return Exit.OK
    for token in tokens:
        end = "expired   " if token.expires <= now else utc_day(token.expires)
        out(f"{token.id}  {','.join(token.scopes):<24}  {end}  {token.name}")
    if not tokens:
        note("no tokens: artificer studio token new NAME")
    return Exit.OK


def _tokens(settings: Settings) -> ApiTokens:
    return ApiTokens(configuration(settings).project_folder, SystemClock().now)


def _shown(token: ApiToken, text: str) -> Exit:
    out(text)
    scopes, day = ", ".join(token.scopes), utc_day(token.expires)
    note(f"{token.id}: {scopes} until {day}; it is not shown again")
    return Exit.OK


def _without_digest(token: ApiToken) -> dict[str, object]:
    shown = token.to_json()
    del shown["digest"]
    return shown
