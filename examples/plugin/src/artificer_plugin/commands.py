"""The command ``artificer sqlite FILE``: what a query of the backend can read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import click

from artificer.errors import OperatorError


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def sqlite(file: Path) -> None:
    """Print the tables of a database and their columns."""
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (name,) in sorted(tables):
                columns = database.execute("SELECT name FROM pragma_table_info(?)", (name,))
                click.echo(f"{name}: {', '.join(column for (column,) in columns)}")
    except sqlite3.Error as error:
        raise OperatorError(f"{file} cannot be read: {error}", hint="Name a database.") from error
