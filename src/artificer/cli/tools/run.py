"""``artificer tools run``: call a tool by hand."""

from __future__ import annotations

import json
from collections.abc import Callable

from artificer.backends.refusal import refuse
from artificer.cli.commands.shared import ExecutionOptions
from artificer.cli.commands.tools import RunToolOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.tools.call import by_hand, judge_by_hand, perform, preview_of
from artificer.ports import Call, Previewing, Receipt
from artificer.values.base import JsonValue
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import memory_storage
from artificer.wiring.toolbox import ToolBox, build_tools


async def run(settings: Settings, options: RunToolOptions) -> Exit:
    """Pass a call through the gate, perform it and print its evidence."""
    execution = ExecutionOptions(local_model=None, compat=options.compat)
    config = configuration(settings, execution)
    world = WorldResources(config, memory_storage())
    await world.secrets.prepare()
    box = build_tools([options.folder], kind="chat", world=world)
    verdict = judge_by_hand(box, config, options.tool, options.arguments)
    if verdict.verdict == "ask" and not (options.yes or options.dry_run):
        reason = verdict.reason or verdict.rule
        note(f"The policy requires approval: {reason}. Pass --yes to approve.")
        return Exit.OPERATOR
    clean = world.redactor.clean
    if verdict.verdict not in ("allow", "ask") or verdict.arguments is None:
        out(clean(verdict.content))
        return Exit.WRONG
    call = by_hand(box, options.tool, verdict.arguments)
    if options.dry_run:
        return _show_effect(box, call, clean)
    receipt = await perform(box.executors[options.tool], call)
    _print(receipt, clean, content=options.content)
    return Exit.OK if receipt.status == "ok" else Exit.WRONG


def _show_effect(box: ToolBox, call: Call, clean: Callable[[str], str]) -> Exit:
    """Print the effect that the call would have."""
    name = call.definition.name
    executor = box.executors[name]
    if not isinstance(executor, Previewing):
        note(f"{name} cannot show a call's effect without performing it.")
        return Exit.OPERATOR
    preview = preview_of(executor, call)
    if preview.problems:
        out(clean(refuse(name, preview.problems).content))
        return Exit.WRONG
    out_json({"status": "dry_run", **{k: _cleaned(v, clean) for k, v in preview.effect.items()}})
    return Exit.OK


def _cleaned(value: JsonValue, clean: Callable[[str], str]) -> JsonValue:
    """The value with all its texts cleaned."""
    if isinstance(value, dict):
        return {name: _cleaned(member, clean) for name, member in value.items()}
    if isinstance(value, list):
        return [_cleaned(item, clean) for item in value]
    return clean(value) if isinstance(value, str) else value


def _print(receipt: Receipt, clean: Callable[[str], str], *, content: bool) -> None:
    if content or receipt.evidence is None:
        out(clean(receipt.content))
    else:
        out_json(json.loads(clean(receipt.evidence)))
