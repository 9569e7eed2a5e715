"""The formats of outputs: json, jsonl, csv and xml, into JSON values. Nothing is guessed."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from artificer.contracts.evidence import compact
from artificer.values.base import JsonObject, JsonValue
from artificer.values.text import well_formed

MAX_DEPTH = 200
"""Elements within each other that an XML output may have."""


def read_json(text: str) -> JsonValue:
    """Read JSON; NaN and infinities, which JSON lacks, are refused, and what is escaped and no
    character becomes U+FFFD, like bytes that are none. Raises ValueError.
    """
    value: JsonValue = json.loads(text, parse_constant=_no_constant)
    return _readable(value) if _SURROGATE.search(text) else value


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def _readable(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return well_formed(value)
        case list():
            return [_readable(item) for item in value]
        case dict():
            return {well_formed(name): _readable(member) for name, member in value.items()}
        case _:
            return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def read_jsonl(text: str) -> JsonValue:
    """Read a JSON value per line; blank lines are skipped. Raises ValueError."""
    values: list[JsonValue] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                values.append(read_json(line))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
    return values


def read_csv(text: str) -> JsonValue:
    """Read rows under the names of the first line, as objects whose values are all text.

    Types are not guessed: ``00501`` is a postal code. The delimiter is a tab where the first line
    has one, ``|`` where it has one and no comma, else a comma. A row with fewer values than names
    has null for the others. Raises ValueError for a row with more, and for names that repeat.
    """
    text = text.removeprefix("\ufeff")  # as spreadsheets write it
    first = text.partition("\n")[0]
    delimiter = "\t" if "\t" in first else "|" if "|" in first and "," not in first else ","
    found = StringIO(text, newline="")  # str.splitlines ends a row also at U+2028 and others
    lines = csv.reader(found, delimiter=delimiter, strict=True)
    try:
        return _rows(lines)
    except csv.Error as error:
        raise ValueError(str(error)) from error


def _rows(lines: Iterator[list[str]]) -> JsonValue:
    names = next(lines, [])
    if len(set(names)) < len(names):
        raise ValueError("two columns have the same name")
    rows: list[JsonValue] = []
    for number, line in enumerate(lines, start=2):
        if len(line) > len(names):
            raise ValueError(f"row {number} has {len(line)} values for {len(names)} columns")
        if line:
            missing = [None] * (len(names) - len(line))
            rows.append(dict(zip(names, [*line, *missing], strict=True)))
    return rows


def read_xml(text: str) -> JsonValue:
    """Read an element as ``{tag: {"@attribute": …, "#text": …, child: … or [ … ]}}``.

    A document type is refused, and with it every entity but the five of XML itself. Raises
    ValueError.
    """
    return _XmlReader().read(text)


class _XmlReader:
    def __init__(self) -> None:
        self._open: list[tuple[str, dict[str, Any], list[str]]] = [("", {}, [])]
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def read(self, text: str) -> JsonObject:
        try:
            self._parser.Parse(text.encode("utf-8", "replace"), True)
        except expat.ExpatError as error:
            raise ValueError(str(error)) from error
        return self._open[0][1]

    def _doctype(self, *_: object) -> NoReturn:
        raise ValueError("a document type is not allowed")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self._open) > MAX_DEPTH:
            raise ValueError(f"elements are nested more than {MAX_DEPTH} deep")
        self._open.append((tag, {f"@{name}": v for name, v in attributes.items()}, []))

    def _end(self, tag: str) -> None:
        _, element, texts = self._open.pop()
        if text := "".join(texts).strip():
            element["#text"] = text
        parent = self._open[-1][1]
        if tag not in parent:
            parent[tag] = element
        elif isinstance(parent[tag], list):
            parent[tag].append(element)
        else:
            parent[tag] = [parent[tag], element]

    def _text(self, text: str) -> None:
        self._open[-1][2].append(text)


def _same(text: str, results: JsonValue) -> str:
    return text


def _lines(text: str, results: JsonValue) -> str:
    lines = (line for line in text.split("\n") if line.strip())
    return f"[{','.join(lines)}]"


def _texts(text: str, results: JsonValue) -> str:
    return compact(results)


class OutputFormat(NamedTuple):
    """A format: its name, what reads it, and what makes the exact JSON of a text and its results:
    JSON keeps its own numbers, and the values of CSV and XML are texts.
    """

    name: str
    read: Callable[[str], JsonValue]
    data: Callable[[str, JsonValue], str]


READERS: dict[str, OutputFormat] = {
    "json": OutputFormat("JSON", read_json, _same),
    "jsonl": OutputFormat("JSON lines", read_jsonl, _lines),
    "csv": OutputFormat("CSV", read_csv, _texts),
    "xml": OutputFormat("XML", read_xml, _texts),
}
