"""Looking for secrets in everything that was written, whatever form they have there."""

from __future__ import annotations

import base64
import binascii
import contextlib
import gzip
import html
import json
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote_to_bytes

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){8,}")


def leaks(data: bytes, secrets: Mapping[str, str]) -> set[str]:
    """The names of the secrets that stand in the bytes: whole or cut, plain or encoded.

    What the bytes could mean is decoded and searched, and not what the program would write.
    """
    pieces: dict[bytes, str] = {}
    for name, secret in secrets.items():
        whole = secret.encode()
        for piece in (whole[:14], whole[-14:], json.dumps(secret)[1:-1].encode()):
            pieces[piece] = name
    together = b"\n".join(dict.fromkeys(_readings(data)))
    return {name for piece, name in pieces.items() if piece in together}


def _readings(data: bytes) -> Iterator[bytes]:
    text = data.decode("utf-8", "replace")
    yield data
    yield unquote_to_bytes(text)
    yield unquote_to_bytes(text.replace("+", " "))
    yield html.unescape(text).encode("utf-8", "replace")
    yield text.replace("\\/", "/").replace('\\"', '"').encode("utf-8", "replace")
    for run in _BASE64.findall(data):
        usual = run.translate(bytes.maketrans(b"-_", b"+/"))
        for start in range(4):
            part = usual[start:]
            yield base64.b64decode(part[: len(part) // 4 * 4] + b"")
    for run in _HEX.findall(data):
        for part in (run, run[1:-1]):
            yield binascii.unhexlify(part[: len(part) // 2 * 2])


def written(folder: Path, besides: Iterable[Path] = ()) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, and what archives and databases hold; names are written too."""
    leave = {*besides}
    for path in sorted(folder.rglob("*")):
        yield f"the name {path}", str(path.relative_to(folder)).encode()
        if path.is_file() and path not in leave:
            data = path.read_bytes()
            yield str(path), data
            yield from _unpacked(path, data)


def _unpacked(path: Path, data: bytes) -> Iterator[tuple[str, bytes]]:
    if data.startswith(b"\x1f\x8b"):
        yield f"{path} unpacked", gzip.decompress(data)
    elif data.startswith(b"PK"):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield f"{path}/{name}", archive.read(name)
    elif data.startswith(b"SQLite format 3"):  # long values lie in pages that are not neighbours
        with sqlite3.connect(path) as database:
            tables = [r[0] for r in database.execute("select name from sqlite_master")]
            for table in tables:
                try:
                    rows = list(database.execute(f'select * from "{table}"'))
                except sqlite3.OperationalError:
                    continue  # an index
                for row in rows:
                    for cell in row:
                        value = cell if isinstance(cell, bytes) else str(cell).encode()
                        yield f"{path}:{table}", value
                        with contextlib.suppress(zlib.error):
                            yield f"{path}:{table} unpacked", zlib.decompress(value)
