"""Where the data of a conversation came from (information-flow labels).

What an untrusted tool returns may hold instructions for the model. From then on the conversation
is tainted, as a whole and for good: nobody can say which of the model's words come from it. A call
of a sensitive tool is then for a person to allow.
"""

from __future__ import annotations

from artificer.contracts.definition import ToolDefinition
from artificer.values.base import Text, Value
from artificer.values.text import clip

MAX_SHOWN = 64
"""Characters of a call's id, which a model's server made up, that are shown."""


class Taint(Value):
    """The first call whose untrusted result the conversation holds."""

    tool: str
    call_id: Text


def tainted(taint: Taint | None, tool: ToolDefinition | None, call_id: str) -> Taint | None:
    """The taint of a conversation after a tool was performed in it, whatever came of that.

    ``tool`` is None for one that the run does not have, and nobody can vouch for.
    """
    if taint is not None or (tool is not None and tool.trust == "trusted"):
        return taint
    return Taint(tool=tool.name if tool else "(gone)", call_id=call_id)


def flow_reason(taint: Taint | None, tool: ToolDefinition) -> str | None:
    """Why a person has to allow a call of this tool; None when nothing flows into it."""
    if taint is None or not tool.sensitive:
        return None
    source = f"{taint.tool!r} returned in call {clip(taint.call_id, MAX_SHOWN)!r}"
    return (
        f"{tool.name!r} is sensitive, and the conversation holds what the untrusted tool {source}."
    )
