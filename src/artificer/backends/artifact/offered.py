"""The tools that make artifacts, as a model is offered them.

Their definitions are data, made by :mod:`artificer.artifacts.definitions` from the types of what
they make: a run would otherwise import every kind of artifact to offer it. ``make docs`` writes
them.
"""

from __future__ import annotations

from functools import cache

from artificer.artifacts import withdraw
from artificer.backends import artifact
from artificer.contracts.definition import ToolDefinition
from artificer.system.files import packaged
from artificer.values.base import ValueReader

FILES = ("tools.json", "tools_with_data.json")
"""The definitions of all tools, without and with ``data``."""

_reader: ValueReader[tuple[ToolDefinition, ...]] = ValueReader(
    tuple[ToolDefinition, ...], "the tools"
)


@cache
def report_tools(*, binding: bool = False) -> tuple[ToolDefinition, ...]:
    """Return the tools of a run that makes a report.

    With ``binding``, artifacts may take ``data`` from the results of other tools.
    """
    return _reader.read(packaged(artifact, FILES[binding]))


@cache
def tools() -> tuple[ToolDefinition, ...]:
    """Return the ``create_*`` tools whose arguments hold all they make: no value is one of them."""
    return tuple(tool for tool in report_tools() if tool.name != withdraw.NAME)
