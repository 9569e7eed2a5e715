"""How the tools that make artifacts are defined: from the types of what they make.

The definitions that a run offers are data, made from these.
"""

from __future__ import annotations

from typing import Annotated

from artificer.artifacts import withdraw
from artificer.artifacts.binding.offer import with_data
from artificer.artifacts.catalog import KINDS, kind_named
from artificer.artifacts.file_name import MAX_NAME
from artificer.artifacts.json_schema import in_schema
from artificer.artifacts.ref import SHOWN_KINDS, ShownKind
from artificer.artifacts.tool import artifact_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import Meta, Value


class _WithdrawalOfShown(Value):
    """An artifact to withdraw from a report that cites no values."""

    kind: Annotated[ShownKind, Meta(description="What it is.")]
    id: Annotated[
        str, Meta(min_length=1, max_length=MAX_NAME, description="Its id; a file's name.")
    ]


_KIND_OR_VALUE = Annotated[
    str,
    in_schema({"type": "string", "enum": [*SHOWN_KINDS, "value"]}),
    Meta(description="What it is."),
]


class _WithdrawalOfAny(Value):
    """An artifact to withdraw from a report that may cite values."""

    kind: _KIND_OR_VALUE
    id: Annotated[
        str, Meta(min_length=1, max_length=MAX_NAME, description="Its id; a file's name.")
    ]


def definitions(*, binding: bool) -> tuple[ToolDefinition, ...]:
    """Return the tools of a run that makes a report.

    With ``binding``, artifacts may take ``data`` from the results of other tools.
    """
    known = KINDS if binding else [kind for kind in KINDS if kind != "value"]
    tools = [tool for kind in known for tool in kind_named(kind).tools()]
    return (*(map(with_data, tools) if binding else tools), _withdraw_tool(values=binding))


def _withdraw_tool(*, values: bool) -> ToolDefinition:
    return artifact_tool(
        withdraw.NAME,
        "Take an artifact out of the report. Call this before you send a text that no longer cites"
        " it: a text that drops a citation is refused otherwise. To change an artifact, make it"
        " again with replace: true instead.",
        _WithdrawalOfAny if values else _WithdrawalOfShown,
    )
