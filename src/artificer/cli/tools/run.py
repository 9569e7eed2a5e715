"""``artificer tools run``: one call by hand, through the gate that a model's call goes through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from artificer.cli.common.attend import COMPAT
from artificer.cli.common.drive import configuration, drive
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Callable

    from artificer.backends.http.spec.request import BuiltRequest
    from artificer.config import Config
    from artificer.core.gate import Verdict
    from artificer.ports import Call, Executor, Receipt
    from artificer.wiring.toolbox import ToolBox


@click.command(name="run")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("tool")
@click.option("--args", "arguments", metavar="JSON", default="{}", help="The arguments.")
@click.option("--dry-run", is_flag=True, help="Print the exact command, and run nothing.")
@click.option("--yes", is_flag=True, help="Approve the call where policy asks a person.")
@click.option("--content", is_flag=True, help="Print what a model would read instead.")
@COMPAT
@pass_settings
def run(
    settings: Settings,
    folder: Path,
    tool: str,
    arguments: str,
    dry_run: bool,
    yes: bool,
    content: bool,
    compat: bool,
) -> int:
    """Call TOOL of FOLDER by hand, and print the envelope that a run would record.

    The call passes the same gate as a model's: schema, types, scope and policy.

    \b
    Example:
      artificer tools run examples/tools git_log --args '{"count": 3}'
      artificer tools run examples/tools git_log --args '{"count": 3}' --dry-run
    """
    from artificer.wiring.secrets import redactor_of
    from artificer.wiring.storage import memory_storage
    from artificer.wiring.toolbox import build_tools

    config = configuration(settings, compat=compat)
    box = build_tools([folder], kind="chat", storage=memory_storage(), config=config)
    verdict = judge_by_hand(box, config, tool, arguments)
    if verdict.verdict == "ask" and not (yes or dry_run):
        note(f"Policy asks a person: {verdict.reason or verdict.rule}. Say --yes to approve.")
        return Exit.OPERATOR
    clean = redactor_of(config).clean
    if verdict.verdict not in ("allow", "ask") or verdict.arguments is None:
        out(clean(verdict.content))
        return Exit.WRONG
    call = call_of(box, tool, verdict.arguments)
    if dry_run:
        return _show_plan(box, call, clean)
    receipt = drive(lambda: perform(box.executors[tool], call))
    _print(receipt, clean, content=content)
    return Exit.OK if receipt.status == "ok" else Exit.WRONG


async def perform(executor: Executor, call: Call) -> Receipt:
    """Perform a call that is a run of its own: what it started ends with it."""
    from artificer.ports import Lasting

    try:
        return await executor.execute(call)
    finally:
        if isinstance(executor, Lasting):
            await executor.release(call.run)


def judge_by_hand(box: ToolBox, config: Config, tool: str, arguments: str) -> Verdict:
    """What the gate says of a call that a person makes."""
    from artificer.core.gate import judge
    from artificer.policies.engine import consult_here
    from artificer.values.blocks import ToolUseBlock

    block = ToolUseBlock(id="by-hand", name=tool, arguments=arguments)
    (verdict,) = judge(
        (block,),
        toolset=box.toolset,
        policy=config.policy,
        made=(),
        most=1,
        stop="tool_use",
        consult=consult_here(),
    )
    return verdict


def call_of(box: ToolBox, tool: str, arguments: str) -> Call:
    """The call that an executor performs."""
    from artificer.ports import Call
    from artificer.system import SystemClock

    definition = box.toolset.get(tool)
    assert definition is not None  # the gate has let it through
    return Call(SystemClock().new_run_id(), "by-hand", definition, json.loads(arguments), "by-hand")


def _show_plan(box: ToolBox, call: Call, clean: Callable[[str], str]) -> int:
    from artificer.backends.command.executor import CommandExecutor
    from artificer.backends.http.executor import HttpExecutor
    from artificer.backends.refusal import refuse

    executor = box.executors[call.definition.name]
    if isinstance(executor, HttpExecutor):
        return _show_request(call, executor.plan(call), clean)
    if not isinstance(executor, CommandExecutor):
        note(f"{call.definition.name} runs no program: there is nothing to show.")
        return Exit.OPERATOR
    plan = executor.plan(call)
    if plan.problems:
        out(clean(refuse(call.definition.name, plan.problems).content))
        return Exit.WRONG
    argv = [clean(item) for item in plan.argv]
    out_json({"status": "dry_run", "command": argv, "notes": list(map(clean, plan.notes))})
    return Exit.OK


def _show_request(call: Call, built: BuiltRequest, clean: Callable[[str], str]) -> int:
    """Print a request; its secrets are names, because nothing is sent."""
    from artificer.backends.http.spec.request import described
    from artificer.backends.refusal import refuse

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
