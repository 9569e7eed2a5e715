"""Copy a world and change one byte of its data: `flip.py HOME COPY`."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from pathlib import Path


def main(home: Path, copy: Path) -> int:
    """Change one digit of the data of `count_files` in the copy, and print where."""
    for world in home.iterdir():
        if (world / "journal.db").is_file():
            shutil.copytree(world, copy / world.name, ignore=shutil.ignore_patterns("owners"))
            database = sqlite3.connect(copy / world.name / "journal.db")
            try:
                return _flip(database)
            finally:
                database.close()
    print("   there is no journal")
    return 1


def _flip(database: sqlite3.Connection) -> int:
    rows = database.execute("SELECT digest, data FROM blobs").fetchall()
    found = [(digest, bytes(data)) for digest, data in rows if b'"languages":' in bytes(data)]
    digest, data = next(row for row in found if row[1].startswith(b'{"files":'))
    at = data.index(b'"files":') + len(b'"files":')
    changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    print(f"   byte {at} of {digest[:19]}…: {chr(data[at])} becomes {chr(changed[at])}")
    database.execute("UPDATE blobs SET data = ? WHERE digest = ?", (changed, digest))
    database.commit()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), Path(sys.argv[2])))
