"""``artificer policy``: the rules of this project, checked, and asked about a call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from artificer.cli.common.drive import configuration, drive
from artificer.cli.common.settings import Settings, pass_settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.core.kinds import RunKind

if TYPE_CHECKING:
    from artificer.config import Config
    from artificer.contracts.definition import Toolset
    from artificer.core.explain import Explanation
    from artificer.core.gate import Verdict

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_TOOLS = click.option("--tools", type=_FOLDER, multiple=True, help="A folder of manifests, too.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group(name="policy")
def command() -> None:
    """The rules of artificer.toml: check them, and ask what they say of a call.

    \b
    Example:
      artificer policy check
      artificer policy explain git_log --args '{"count": 3}'
    """


@command.command(name="check")
@_TOOLS
@_JSON
@pass_settings
def check(settings: Settings, tools: tuple[Path, ...], as_json: bool) -> int:
    """Read the rules and the Cedar policies as a run would, and list them.

    A rule that can never match is an error: it names no tool of this project, or an argument that
    none of its tools has, or a glob is written as a regular expression. So is a Cedar policy about
    an entity that no call has. A rule that no call can reach is a warning.

    \b
    Example:
      artificer policy check
      artificer policy check --tools tools --json
    """
    from artificer.core.explain import unheard
    from artificer.wiring.policies import policy_faults

    config = configuration(settings)
    toolset = _toolset(config, tools)
    policy = config.policy
    dead, never = unheard(policy), list(policy_faults(policy, toolset)) if toolset.tools else []
    if as_json:
        facts = {"unheard": list(dead), "faults": never}
        out_json({**policy.model_dump(mode="json"), **facts})
    else:
        _list(config)
    for number in dead:
        note(f"rule {number} is never heard: a rule before it matches every call")
    for fault in never:
        note(fault)
    return Exit.WRONG if never else Exit.OK


def _list(config: Config) -> None:
    policy = config.policy
    for globs in policy.allow_lists:
        out(f"allow-list  {' '.join(globs) or '(no tool)'}")
    for number, rule in enumerate(policy.rules, 1):
        facts = rule.model_dump(
            mode="json", exclude={"decision", "reason", "name"}, exclude_defaults=True
        )
        words = " ".join(f"{name}={_short(value)}" for name, value in facts.items())
        named = f"  ({rule.name})" if rule.name else ""
        out(f"rule {number}  {rule.decision:<5} {words or 'every call'}{named}")
    for text in policy.cedar:
        out(f"cedar   {text.name}  {text.digest}")
    out(f"default {policy.default}")


def _short(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    return ",".join(_condition(item) if isinstance(item, dict) else str(item) for item in value)


def _condition(facts: dict[str, Any]) -> str:
    given = {name: value for name, value in facts.items() if name != "at"}
    return f"{facts['at']}[" + " ".join(f"{name}={value}" for name, value in given.items()) + "]"


@command.command(name="explain")
@click.argument("tool")
@click.option("--args", "arguments", metavar="JSON", default="{}", help="The arguments.")
@click.option("--kind", type=click.Choice(get_args(RunKind)), default="deliver", show_default=True)
@click.option("--model", metavar="PROVIDER/MODEL", help="The model, for Cedar policies.")
@click.option("--after", metavar="TOOL", help="As if this untrusted tool had returned before.")
@_TOOLS
@_JSON
@pass_settings
def explain(
    settings: Settings,
    tool: str,
    arguments: str,
    kind: str,
    model: str | None,
    after: str | None,
    tools: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Say what the gate would do with a call of TOOL, by which rule and why. Nothing runs.

    TOOL is one of this project's: of its folders of manifests, its MCP servers, or a create_* tool.

    \b
    Example:
      artificer policy explain git_log --args '{"count": 3}'
      artificer policy explain mail.send --after web.fetch --json
    """
    from artificer.core.explain import explain as explain_call
    from artificer.core.gate import judge
    from artificer.core.policy import Asked, Occasion
    from artificer.core.taint import Taint
    from artificer.policies.engine import consult_here
    from artificer.values.blocks import ToolUseBlock
    from artificer.values.strict_json import parse_object

    config = configuration(settings)
    toolset = _toolset(config, tools)
    taint = None if after is None else Taint(tool=after, call_id="earlier")
    occasion = Occasion(kind, model or config.model or "", taint)
    block = ToolUseBlock(id="by-hand", name=tool, arguments=arguments)
    (verdict,) = judge(
        (block,),
        toolset=toolset,
        policy=config.policy,
        made=(),
        most=1,
        stop="tool_use",
        occasion=occasion,
        consult=consult_here(),
    )
    definition, given = toolset.get(tool), parse_object(arguments)
    explanation = None
    if definition is not None and isinstance(given, dict) and verdict.verdict != "invalid":
        asked = Asked(definition, given, occasion)
        explanation = explain_call(config.policy, asked, consult_here())
    _tell(verdict, explanation, as_json=as_json)
    return Exit.OK


def _tell(verdict: Verdict, explanation: Explanation | None, *, as_json: bool) -> None:
    steps = explanation.steps if explanation else ()
    if as_json:
        facts = verdict.model_dump(mode="json", include={"tool", "verdict", "rule", "reason"})
        problems = [problem.model_dump(mode="json") for problem in verdict.problems]
        shown = [step.model_dump(mode="json") for step in steps]
        out_json({**facts, "problems": problems, "steps": shown})
        return
    for step in steps:
        because = f": {', '.join(step.because)}" if step.because else ""
        out(f"  {step.rule} ({step.decision}) {step.outcome}{because}")
    by = f" by {verdict.rule}" if verdict.rule else ""
    out(f"{verdict.verdict}{by}{': ' + verdict.reason if verdict.reason else ''}")
    for problem in verdict.problems:
        out(f"  {problem.pointer or 'arguments'}: {problem.message}")


def _toolset(config: Config, folders: tuple[Path, ...]) -> Toolset:
    """The tools that a report of this project may use."""
    from artificer.wiring.servers import build_servers
    from artificer.wiring.storage import memory_storage
    from artificer.wiring.toolbox import build_tools

    async def collect() -> Toolset:
        storage = memory_storage()
        async with build_servers(config, storage) as servers:
            box = build_tools(
                [*config.tools, *folders, *await servers.offered()],
                kind="deliver",
                storage=storage,
                config=config,
                servers=servers,
                facilities=config.facilities,
            )
            return box.toolset

    return drive(collect)
