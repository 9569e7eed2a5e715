#!/usr/bin/env python3
"""Answers one SELECT about a SQLite database, which is opened read-only, with rows as JSON.

The sqlite3 shell is not used: its SQL can read any file, with fsdir() and zipfile(), also with
-safe. The library has neither, and the authorizer refuses all that does more than read.
"""

import json
import os
import sqlite3
import sys
from pathlib import Path
from urllib.parse import quote

ALLOWED = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)


def authorize(action, first, second, database, trigger):
    """Let SQL read, and nothing else: no ATTACH, no PRAGMA, no change."""
    if action == sqlite3.SQLITE_PRAGMA and first in ("table_info", "table_list"):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY


try:
    path = Path(os.environ["TOOLCLAD_ARG_DATABASE"]).absolute()
    database = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
    database.set_authorizer(authorize)
    database.row_factory = sqlite3.Row
    for row in database.execute(os.environ["TOOLCLAD_ARG_QUERY"]):
        text = json.dumps(dict(row), ensure_ascii=False, default=bytes.hex)
        sys.stdout.write(text + "\n")
except (sqlite3.Error, sqlite3.Warning) as error:
    sys.exit(f"Error: {error}")
