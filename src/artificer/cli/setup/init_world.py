"""``artificer init --world URL``: make a world at a URL, and the roles that use it."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import click

from artificer.cli.commands.setup import InitOptions
from artificer.cli.settings import Settings
from artificer.cli.setup.databases import (
    add_role,
    check_objects,
    is_in_database,
    needs_world,
    replication_of,
    role_statements,
    settle_world,
)
from artificer.cli.setup.settings_file import write
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.config import FILE_NAME, Config, load_config
from artificer.errors import ConfigError
from artificer.wiring.storage_kinds import is_there, opened

if TYPE_CHECKING:
    from artificer.storage.postgres.roles import RoleRights


def init_world(settings: Settings, options: InitOptions, url: str) -> Exit:
    """Make what is not there yet: the world, the roles, the file. It may be done again.

    Raises:
        ConfigError: the URL holds a password or cannot be used, or the file names another world.
        OperatorError: the database or the object store cannot be reached, or refuses.
    """
    _refuse_password(url)
    config = _configuration(settings, options, url)
    if is_in_database(url):
        return _in_database(settings, options, config)
    if needs_world(options):
        raise click.UsageError(
            "--role, --reader, --print-sql, --restored and --new-id need a world in PostgreSQL."
        )
    _made(config)
    _written(settings, options, url)
    return Exit.OK


def _in_database(settings: Settings, options: InitOptions, config: Config) -> Exit:
    rights: list[tuple[str, RoleRights]] = [(name, "work") for name in options.role]
    rights += [(name, "read") for name in options.reader]
    if options.print_sql:
        for name, may in rights:
            for statement in role_statements(config, name, may):
                out(f"{statement};")
        return Exit.OK
    if options.restored or options.new_id:
        world = settle_world(config, is_copy=options.new_id)
        note(f"the world {world} continues here")
    _made(config)
    if replication_of(config) == "asynchronous":
        note(_ASYNCHRONOUS, "bad")
    if where := check_objects(config):
        note(f"blobs of more than 32 KiB go to {where}")
    for name, may in rights:
        is_new = add_role(config, name, may)
        did = "created" if is_new else "gave its rights to"
        note(f"{did} the role {name}, which may {_MAY[may]}")
    _written(settings, options, config.storage)
    if any(may == "work" for _, may in rights):
        note("workers use the same URL with their role in it; set its password in the database")
    return Exit.OK


_MAY = {"work": "run, replay and verify, but not change tables", "read": "read, but change nothing"}


_ASYNCHRONOUS = (
    "commits wait for no replica of this server: after a fail-over the last commits may be "
    "missing. docs/guides/postgresql.md says what to set"
)


def _made(config: Config) -> None:
    """Create the world, or upgrade an older one for a new release."""

    async def make() -> bool:
        was_there = await is_there(config)
        await (await opened(config, read_only=False)).aclose()
        return was_there

    note("the world exists already" if asyncio.run(make()) else "created the world")


def _written(settings: Settings, options: InitOptions, url: str) -> None:
    if not Path(FILE_NAME).exists():
        write(settings, options.model, url)
    note("next: `artificer doctor`, then `artificer run`; `artificer verify` checks the world")


def _configuration(settings: Settings, options: InitOptions, url: str) -> Config:
    """Return the configuration with this world. Raises ConfigError if the file has another."""
    config = load_config(home=settings.home, project=settings.project)
    named = (_written_already(), config.storage)  # the environment may name it, too
    if Path(FILE_NAME).exists() and url not in named and not options.print_sql:
        raise ConfigError(
            f"{Path(FILE_NAME).absolute()} exists, and {_HAS[named[0] is not None]}.",
            hint=f'Write storage = "{url}" into it, or work in a folder without one; then repeat '
            "the command.",
        )
    return config.replace(storage=url)


_HAS = {True: "its world is another one", False: "does not name this world"}


def _written_already() -> str | None:
    """The world that the file names. It has been read before, so it is valid."""
    path = Path(FILE_NAME)
    found = tomllib.loads(path.read_text("utf-8")).get("storage") if path.exists() else None
    return found if isinstance(found, str) else None


def _refuse_password(url: str) -> None:
    """Raise ConfigError for a URL with a password; no message holds a part of it."""
    try:
        parts = urlsplit(url)
        has_password = parts.password is not None or "password" in parse_qs(parts.query)
    except ValueError:
        has_password = False  # the reader of the URL reports its faults
    if has_password:
        raise ConfigError(
            "The URL contains a password, which would be written into a file.",
            hint="Leave it out: libpq reads it from $PGPASSWORD, or from a file that $PGPASSFILE "
            "names.",
        )
