"""``artificer tools test``: run the examples that manifests declare as tests."""

from __future__ import annotations

from artificer.cli.commands.tools import TestToolsOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import count
from artificer.cli.tools.call import by_hand, judge_by_hand, perform, preview_of
from artificer.cli.tools.folder import load
from artificer.config import Config
from artificer.manifests.keys import ExampleKeys
from artificer.ports import Preview, Previewing
from artificer.values.canon import canonical
from artificer.wiring.resources import WorldResources
from artificer.wiring.storage import memory_storage
from artificer.wiring.toolbox import ToolBox, build_tools

_STATUS = {"success": "ok"}


async def test(settings: Settings, options: TestToolsOptions) -> Exit:
    """Run the examples and print their results; return 1 if one is wrong."""
    config = configuration(settings)
    tools = load(settings, options.folder)
    world = WorldResources(config, memory_storage())
    await world.secrets.prepare()
    box = build_tools([options.folder], kind="chat", world=world)
    total = wrong = 0
    for tool in tools:
        for number, example in enumerate(tool.manifest.examples, start=1):
            name = tool.definition.name
            fault = await _fault(box, config, name, example)
            total += 1
            wrong += fault is not None
            out(f"{name} {number}: {fault or 'ok'}", "bad" if fault else "good")
    note(f"{count(total, 'example')}, {wrong} wrong")
    return Exit.WRONG if wrong else Exit.OK


async def _fault(box: ToolBox, config: Config, name: str, example: ExampleKeys) -> str | None:
    """Return why an example fails, or None."""
    verdict = judge_by_hand(box, config, name, canonical(example.args).decode())
    if verdict.arguments is None or verdict.verdict not in ("allow", "ask"):
        return None if example.status == "invalid" else f"the gate says {verdict.verdict}"
    call = by_hand(box, name, verdict.arguments)
    executor = box.executors[name]
    if example.argv is not None and isinstance(executor, Previewing):
        return _command_fault(preview_of(executor, call), example.argv)
    receipt = await perform(executor, call)
    if receipt.status != _STATUS.get(example.status, example.status):
        return f"is {receipt.status}, not {example.status}"
    return None if example.contains in receipt.content else f"does not contain {example.contains!r}"


def _command_fault(preview: Preview, argv: tuple[str, ...]) -> str | None:
    """Return why a call would not run this command, or None."""
    built = preview.effect.get("command")
    if not preview.problems and built == [*argv]:
        return None
    shown = " ".join(map(str, built)) if isinstance(built, list) else "missing"
    return f"the command is {'; '.join(p.message for p in preview.problems) or shown}"
