"""``compat``: accepting what the format's reference accepts, wherever that restricts nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from artificer.contracts.arguments.check import Fault
from artificer.manifests.faults import meant
from artificer.manifests.registry import Sections
from artificer.manifests.section_reads import checked_faults
from artificer.manifests.toml_lines import Path

ROUNDS = 8
"""How often ``compat`` takes out what cannot be read, before it gives up."""

_IGNORABLE: tuple[Path, ...] = (
    *(("tool", key) for key in ("version", "description", "binary", "mode", "evidence")),
    *(("args", "*", key) for key in ("description", "position", "sanitize", "default")),
    *(("output",), ("examples",)),
)
"""Keys that restrict nothing: ``compat`` may go on without a value of theirs that cannot be read.

Without any other, a call could do more than its author meant. ``sanitize`` is one of these, because
``compat`` refuses what it would in every argument.
"""

_RESTRICTING = (("tool", "sandbox"), ("tool", "limits"), ("tool", "probe"))
"""Tables that restrict calls, like ``[args.NAME]``: an unknown key there may restrict them, too."""

_RESTRICTING_NAMES = (
    *("allowed", "pattern", "required", "schemes", "scope", "scope_check", "limits", "sandbox"),
    *("human_approval", "risk_tier", "sensitive", "trust", "effect", "dispatch"),
    *("timeout", "timeout_seconds"),
)
"""Names that mean something to an author even where the format does not know them."""


def fill_in(data: dict[str, Any], sections: Sections, stem: str) -> Iterator[Fault]:
    """Complete a file by what the reference does not demand."""
    tool = data.setdefault("tool", {})
    if not isinstance(tool, dict):
        return
    for name, section in sections.items():
        if isinstance(data[name], dict):
            yield from checked_faults(name, section.fill_in(data[name]))
    for key, value in (("name", stem), ("version", "0"), ("description", tool.get("name", stem))):
        if tool.get(key) in (None, ""):
            tool[key] = value
            yield Fault(("tool", key), f"is missing: taken to be {value!r}", lenient=True)


def forgivable(detail: Any, fault: Fault, sections: Sections) -> Fault:
    """Return the fault, lenient if the reference accepts it and the key restricts nothing."""
    path = key_path(detail)
    if detail["type"] == "missing":
        return fault
    if detail["type"] != "extra_forbidden":
        return fault._replace(lenient=_may_be_ignored(path, sections))
    restricting = (*_RESTRICTING, *((n, *p) for n, s in sections.items() for p in s.restricting))
    if path[:-1] in restricting or path[-3:-2] == ("args",) or path[-1] in _RESTRICTING_NAMES:
        return fault
    known = meant(path, sections)
    lenient = known is None or _may_be_ignored((*path[:-1], known), sections)
    return fault._replace(lenient=lenient)


def key_path(detail: Any) -> Path:
    """Return the path of the key that an error of pydantic is about, without places in lists."""
    return tuple(takewhile(lambda step: not isinstance(step, int), detail["loc"]))


def take_out(data: dict[str, Any], path: Path) -> bool:
    """Take out a key that cannot be read, so that its default counts; False if it is not there."""
    table: Any = data
    for step in path[:-1]:
        table = table[step] if isinstance(table, dict) and step in table else None
    if not isinstance(table, dict) or path[-1] not in table:
        return False
    del table[path[-1]]
    return True


def _may_be_ignored(path: Path, sections: Sections) -> bool:
    own = sections[path[0]].ignorable if path[0] in sections else ()
    if path[0] in sections and path[3:4] == ("args",):
        path, own = path[3:], ()
    ignorable = (*_IGNORABLE, *((path[0], *known) for known in own))
    return any(
        len(path) >= len(known)
        and all(step in ("*", found) for step, found in zip(known, path, strict=False))
        for known in ignorable
    )
