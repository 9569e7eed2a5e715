"""The late result of a call as evidence that the call happened after all."""

from __future__ import annotations

from artificer.core.events import DoubtResolved, ReceiptIgnored
from artificer.core.intents import CallTool
from artificer.core.state import Doubt, RunState
from artificer.values.canon import canonical
from artificer.values.text import clip

MAX_SHOWN = 64
"""Characters of a call's id, which a model's server made up, that are shown."""


def resolved_by(state: RunState, call: CallTool, late: ReceiptIgnored) -> DoubtResolved | None:
    """Return what the late result of a call resolves, if the run is in doubt about that call.

    Only a success does. A function that failed late may have done a part of its work, so the doubt
    stays. The result of an untrusted tool is not repeated where a person's words stand.
    """
    if (late.what, late.intent, late.status) != ("ToolReturned", call.n, "ok"):
        return None
    doubt = Doubt(call_id=call.call_id, tool=call.tool, arguments=call.arguments)
    if doubt not in state.doubts:
        return None
    tool = state.run_spec.tool(call.tool)
    result = "Its result is in the journal."
    if tool is not None and tool.trust == "trusted":
        result = f"Its result, as JSON text: {canonical(late.content).decode()}"
    content = (
        f"About the call {clip(call.call_id, MAX_SHOWN)} of {call.tool}: its work went on after it "
        f"was answered, and has ended well. So it had happened; do not repeat it. {result}"
    )
    return DoubtResolved(
        at=late.at,
        call_id=call.call_id,
        happened=True,
        reason="Its late result came.",
        content=content,
        by="",
        letter=0,
    )
