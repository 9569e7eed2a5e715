"""``artificer tools run``: call a tool by hand."""

from __future__ import annotations

import json
from collections.abc import Callable

from artificer.backends.command.executor import CommandExecutor
from artificer.backends.http.executor import HttpExecutor
from artificer.backends.http.spec.request import BuiltRequest, described
from artificer.backends.refusal import refuse
from artificer.cli.commands.shared import ExecutionOptions
from artificer.cli.commands.tools import RunToolOptions
from artificer.cli.configuration import configuration
from artificer.cli.interruptible import interruptible
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.tools.call import by_hand, judge_by_hand, perform
from artificer.ports import Call, Receipt
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import memory_storage
from artificer.wiring.toolbox import ToolBox, build_tools


@interruptible
async def run(settings: Settings, options: RunToolOptions) -> Exit:
    """Pass a call through the gate, perform it and print its evidence."""
    execution = ExecutionOptions(local_model=None, compat=options.compat)
    config = configuration(settings, execution)
    world = WorldResources(config, memory_storage())
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
        return _show_plan(box, call, clean)
    receipt = await perform(box.executors[options.tool], call)
    _print(receipt, clean, content=options.content)
    return Exit.OK if receipt.status == "ok" else Exit.WRONG


def _show_plan(box: ToolBox, call: Call, clean: Callable[[str], str]) -> Exit:
    executor = box.executors[call.definition.name]
    if isinstance(executor, HttpExecutor):
        return _show_request(call, executor.plan(call), clean)
    if not isinstance(executor, CommandExecutor):
        note(f"{call.definition.name} starts no program, so it has no command to show.")
        return Exit.OPERATOR
    plan = executor.plan(call)
    if plan.problems:
        out(clean(refuse(call.definition.name, plan.problems).content))
        return Exit.WRONG
    argv = [clean(item) for item in plan.argv]
    out_json({"status": "dry_run", "command": argv, "notes": list(map(clean, plan.notes))})
    return Exit.OK


def _show_request(call: Call, built: BuiltRequest, clean: Callable[[str], str]) -> Exit:
    """Print a request; its secrets are names, because nothing is sent."""
    request = built.request
    if request is None:
        out(clean(refuse(call.definition.name, built.problems).content))
        return Exit.WRONG
    shown: dict[str, object] = {"status": "dry_run", "request": clean(request.line)}
    shown["headers"] = {name: clean(described(value)) for name, value in request.headers}
    if request.body is not None:
        shown["body"] = clean(described(request.body))
    out_json(shown)
    return Exit.OK


def _print(receipt: Receipt, clean: Callable[[str], str], *, content: bool) -> None:
    if content or receipt.evidence is None:
        out(clean(receipt.content))
    else:
        out_json(json.loads(clean(receipt.evidence)))
