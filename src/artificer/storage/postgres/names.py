"""Texts in PostgreSQL: they may hold any character; PostgreSQL's may not hold NUL."""

from __future__ import annotations

from typing import Any

from psycopg import BaseConnection
from psycopg.types.string import StrDumper, TextBinaryLoader, TextLoader


def write_any_text(db: BaseConnection[Any]) -> None:
    """Let a connection write and read any text."""
    db.adapters.register_dumper(str, _NameDumper)
    for loader in (_NameLoader, _NameBinaryLoader):
        db.adapters.register_loader("text", loader)


class _NameDumper(StrDumper):
    def dump(self, obj: str) -> bytes:
        return super().dump(obj.replace("\\", "\\\\").replace("\0", "\\0"))  # type: ignore[return-value]


class _NameLoader(TextLoader):
    def load(self, data: bytes | bytearray | memoryview) -> str:
        return _unescaped(str(super().load(data)))


class _NameBinaryLoader(TextBinaryLoader):
    def load(self, data: bytes | bytearray | memoryview) -> str:
        return _unescaped(str(super().load(data)))


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return "\\".join(part.replace("\\0", "\0") for part in text.split("\\\\"))
