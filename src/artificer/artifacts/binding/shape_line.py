"""Reading the line that names data and its shape, as a model reads it.

What a small model may bind is what it was shown, so that a request follows from the conversation.
"""

from __future__ import annotations

import json
import re

from artificer.artifacts.binding.shape import MAX_LINE, Column, DataShape, Place

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ITEM = rf"(?:{_QUOTED}|[A-Za-z_][A-Za-z0-9_.-]*) \([a-z ]+\)"
_LABEL = re.compile(r"\[Data: (\S+#\d+)")
_PLACE = re.compile(rf" · rows at ({_QUOTED}): ([\d,]+) · columns: ({_ITEM}(?:, {_ITEM})*)")
_MORE = re.compile(r"(?:, | · )\d+ more(?: places with rows)?")
_VALUES = re.compile(rf" · values at ({_ITEM}(?:, {_ITEM})*)")
_PAIR = re.compile(rf"({_QUOTED}|[A-Za-z_][A-Za-z0-9_.-]*) \(([a-z ]+)\)")


def read_line(line: str) -> tuple[str, DataShape] | None:
    """Return the label and the shape that a line of `data_line` names, without what it cut off.

    >>> read_line('[Data: disk#2 · rows at "/items": 14 · columns: name (text), bytes (number)]')[0]
    'disk#2'
    """
    found = _LABEL.match(line)
    if found is None or len(line) > MAX_LINE:
        return None
    label, at = found[1], found.end()
    places: list[Place] = []
    values: tuple[Column, ...] = ()
    while part := _PLACE.match(line, at) or _MORE.match(line, at) or _VALUES.match(line, at):
        at = part.end()
        if part.re is _PLACE and (pointer := _name(part[1])) is not None:
            places.append(Place(pointer, int(part[2].replace(",", "")), _columns(part[3])))
        elif part.re is _VALUES:
            values = _columns(part[1])
    return label, DataShape(tuple(places), values)


def _columns(text: str) -> tuple[Column, ...]:
    named = [(_name(name), kind) for name, kind in _PAIR.findall(text)]
    return tuple([Column(name, kind) for name, kind in named if name is not None])


def _name(written: str) -> str | None:
    """Return a name as it is in the data; None for one that was cut off."""
    if not written.startswith('"'):
        return written
    try:
        name = str(json.loads(written))
    except ValueError:
        return None
    return None if name.endswith("…") else name
