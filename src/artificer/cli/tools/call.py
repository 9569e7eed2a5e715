"""One call by hand, through the gate that a model's call passes."""

from __future__ import annotations

import json

from artificer.config import Config
from artificer.core.gate import judge
from artificer.core.verdict import Verdict
from artificer.errors import AuthorError
from artificer.policies.engine import consult_here
from artificer.ports import Call, Executor, Lasting, Preview, Previewing, Receipt
from artificer.system.clock import SystemClock
from artificer.values.blocks import ToolUseBlock
from artificer.wiring.toolbox import ToolBox


async def perform(executor: Executor, call: Call) -> Receipt:
    """Perform a call outside any run: what it started ends with it."""
    try:
        return await executor.execute(call)
    finally:
        if isinstance(executor, Lasting):
            await executor.release(call.run)


def preview_of(executor: Previewing, call: Call) -> Preview:
    """Return the effect that a call would have. Raises AuthorError if the executor is wrong."""
    found: object = executor.preview(call)
    if not isinstance(found, Preview):
        raise AuthorError(
            f"The executor of {call.definition.name} returned a {type(found).__name__} as the "
            "preview of a call, not a Preview.",
            hint=f"Correct the backend {call.definition.backend!r}, or report it to its authors.",
        )
    return found


def judge_by_hand(box: ToolBox, config: Config, tool: str, arguments: str) -> Verdict:
    """Return the gate's verdict about a call that a person makes."""
    block = ToolUseBlock(id="by-hand", name=tool, arguments=arguments)
    (verdict,) = judge(
        (block,),
        toolset=box.toolset,
        policy=config.policy,
        made=(),
        limit=1,
        stop="tool_use",
        consult=consult_here(),
    )
    return verdict


def by_hand(box: ToolBox, tool: str, arguments: str) -> Call:
    """Return the call for an executor."""
    definition = box.toolset.get(tool)
    assert definition is not None  # the gate has allowed it
    return Call(SystemClock().new_run_id(), "by-hand", definition, json.loads(arguments), "by-hand")
