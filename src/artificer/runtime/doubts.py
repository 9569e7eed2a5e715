"""After a crash: which calls may have happened, or may be in progress still (invariant 3)."""

from __future__ import annotations

from collections.abc import Sequence

from artificer.contracts.definition import AGENT_ORIGINS
from artificer.core.intents import CallTool, Intent
from artificer.core.spec import RunSpec
from artificer.ports import Probed
from artificer.runtime.late_results import ended_since
from artificer.runtime.ledger import Ledger
from artificer.runtime.perform import Performer
from artificer.runtime.tool_calls import definition_of

_TAKEN_OVER = "The run was taken over from {}, where the call may still be under way."
_NOT_KNOWN = "The run's former owner is not known to be dead: the call may still be under way."


def possibly_running(ledger: Ledger, pending: Sequence[Intent]) -> dict[int, str]:
    """Why calls may be in progress at the former owner, by the number of their intents.

    The call of an agent by a run that workers execute never is: its run has its own journal,
    which one process continues, and which says what may be in progress.
    """
    former = ledger.former
    if former.liveness == "gone":
        return {}
    why = _TAKEN_OVER.format(former.who) if former.who else _NOT_KNOWN
    spec = ledger.state.run_spec
    return {intent.n: why for intent in pending if not _has_run(spec, intent)}


def _has_run(spec: RunSpec, intent: Intent) -> bool:
    if spec.submission is None or not isinstance(intent, CallTool):
        return False
    tool = spec.tool(intent.tool)
    return tool is not None and tool.origin in AGENT_ORIGINS


async def ask_world(
    ledger: Ledger, performer: Performer, pending: Sequence[Intent]
) -> tuple[dict[int, Probed], dict[int, str]]:
    """Return what the world says of the calls without a receipt, and why they may be in progress.

    Both are by the number of the intent. Where an unknown former owner may still send a call, and
    its target rejects that because a probe has shown it our epoch, "absent" leaves no doubt.
    """
    run, former = ledger.run, ledger.former
    unsure = [i for i in pending if isinstance(i, CallTool) and i.effect != "pure"]
    doubts = possibly_running(ledger, pending)
    fenced = [i for i in unsure if former.liveness == "unknown" and _is_fenced(performer, i)]
    left = await performer.tool_calls.still_running(run, fenced if doubts else unsure)
    probed = await _ended_here(ledger, performer, unsure)
    for intent in unsure:  # after what could act has ended
        if intent.n not in probed and intent.effect in ("once", "keyed"):
            answer = await performer.tool_calls.probe(run, intent, ledger.epoch)
            probed |= {} if answer is None else {intent.n: answer}
    for n in (intent.n for intent in fenced):
        if n in probed and probed[n].found == "absent":
            del doubts[n]
    return probed, left | doubts


_ENDED_HERE = "Its work went on in this program, and has ended well."


async def _ended_here(
    ledger: Ledger, performer: Performer, unsure: Sequence[CallTool]
) -> dict[int, Probed]:
    """Return the results of calls whose work went on when their run was stopped: no probe knows
    better. Of one that failed late, a part may have happened.
    """
    if not unsure:
        return {}
    results = await ended_since(ledger, performer, lambda call: call in unsure)
    return {
        call.n: Probed(found="happened", content=late.content, reason=_ENDED_HERE)
        for call, late in results
        if late.status == "ok"
    }


def _is_fenced(performer: Performer, call: CallTool) -> bool:
    executor = performer.executors.get(call.tool)
    return executor is not None and definition_of(executor, call.tool).fenced
