"""``artificer tools test``: the examples that manifests declare, made and held to what they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from artificer.cli.common.drive import configuration, drive
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.cli.tools.run import call_of, judge_by_hand, perform

if TYPE_CHECKING:
    from artificer.config import Config
    from artificer.manifests.keys import ExampleKeys
    from artificer.wiring.toolbox import ToolBox

_STATUS = {"success": "ok"}


@click.command(name="test")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@pass_settings
def test(settings: Settings, folder: Path) -> int:
    """Make the calls that the manifests of FOLDER declare as [[examples]].

    An example with 'argv' is only built; others are run, here, with their effects.

    \b
    Example:
      artificer tools test examples/tools
    """
    from artificer.backends.loader import load_folder
    from artificer.wiring.storage import memory_storage
    from artificer.wiring.toolbox import build_tools

    config = configuration(settings)
    tools = load_folder(folder, compat=config.tools_compat, trusted_keys=config.tools_keys)
    box = build_tools([folder], kind="chat", storage=memory_storage(), config=config)
    made = wrong = 0
    for tool in tools:
        for number, example in enumerate(tool.manifest.examples, start=1):
            name = tool.definition.name
            fault = _fault(box, config, name, example)
            made += 1
            wrong += fault is not None
            out(f"{name} {number}: {fault or 'ok'}", "bad" if fault else "good")
    note(f"{made} examples, {wrong} wrong")
    return Exit.WRONG if wrong else Exit.OK


def _fault(box: ToolBox, config: Config, name: str, example: ExampleKeys) -> str | None:
    """Why an example does not hold, or None."""
    from artificer.backends.command.executor import CommandExecutor
    from artificer.values.canon import canonical

    verdict = judge_by_hand(box, config, name, canonical(example.args).decode())
    if verdict.arguments is None or verdict.verdict not in ("allow", "ask"):
        return None if example.status == "invalid" else f"the gate says {verdict.verdict}"
    call = call_of(box, name, verdict.arguments)
    executor = box.executors[name]
    if example.argv is not None and isinstance(executor, CommandExecutor):
        plan = executor.plan(call)
        built = " ".join(plan.argv) or "; ".join(p.message for p in plan.problems)
        return None if plan.argv == example.argv else f"the command is {built}"
    receipt = drive(lambda: perform(executor, call))
    if receipt.status != _STATUS.get(example.status, example.status):
        return f"is {receipt.status}, not {example.status}"
    return None if example.contains in receipt.content else f"does not hold {example.contains!r}"
