"""``artificer policy``: check the rules of a project, and explain a decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from artificer.cli.commands.policy import CheckPolicyOptions, ExplainPolicyOptions
from artificer.cli.configuration import configuration
from artificer.cli.settings import Settings
from artificer.cli.terminal.console import note, out, out_json
from artificer.cli.terminal.exits import Exit
from artificer.cli.terminal.words import problem_text
from artificer.config import Config
from artificer.contracts.definition import Toolset
from artificer.core.explain import PolicyExplanation, unreachable_rules
from artificer.core.explain import explain as explain_call
from artificer.core.gate import judge
from artificer.core.policy import Occasion, PolicyQuery
from artificer.core.taint import Taint
from artificer.core.verdict import Verdict
from artificer.policies.engine import consult_here
from artificer.values.blocks import ToolUseBlock
from artificer.values.strict_json import parse_object
from artificer.wiring.policies import policy_faults
from artificer.wiring.resources import WorldResources
from artificer.wiring.servers import build_servers
from artificer.wiring.storage import memory_storage
from artificer.wiring.toolbox import build_tools


async def check(settings: Settings, options: CheckPolicyOptions) -> Exit:
    """Print the rules and their faults; return 1 if there are any."""
    config = configuration(settings)
    toolset = await _toolset(config, options.tools)
    policy = config.policy
    unreachable = unreachable_rules(policy)
    faults = list(policy_faults(policy, toolset)) if toolset.tools else []
    if options.as_json:
        facts = {"unheard": list(unreachable), "faults": faults}
        out_json({**policy.to_json(), **facts})
    else:
        _list(config)
    for number in unreachable:
        note(f"rule {number} is never evaluated: an earlier rule matches every call")
    for fault in faults:
        note(fault)
    return Exit.WRONG if faults else Exit.OK


def _list(config: Config) -> None:
    policy = config.policy
    for globs in policy.allow_lists:
        out(f"allow-list  {' '.join(globs) or '(no tool)'}")
    for number, rule in enumerate(policy.rules, 1):
        facts = rule.to_json(defaults=False)
        shown = facts.keys() - {"decision", "reason", "name"}
        words = " ".join(f"{n}={_short(value)}" for n, value in facts.items() if n in shown)
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
    others = {name: value for name, value in facts.items() if name != "at"}
    return f"{facts['at']}[" + " ".join(f"{name}={value}" for name, value in others.items()) + "]"


async def explain(settings: Settings, options: ExplainPolicyOptions) -> Exit:
    """Print the gate's decision about a call, and the rules that led to it."""
    config = configuration(settings)
    toolset = await _toolset(config, options.tools)
    after = options.after
    taint = None if after is None else Taint(tool=after, call_id="earlier")
    occasion = Occasion(options.kind, options.model or next(iter(config.default_models), ""), taint)
    block = ToolUseBlock(id="by-hand", name=options.tool, arguments=options.arguments)
    (verdict,) = judge(
        (block,),
        toolset=toolset,
        policy=config.policy,
        made=(),
        limit=1,
        stop="tool_use",
        occasion=occasion,
        consult=consult_here(),
    )
    definition, arguments = toolset.get(options.tool), parse_object(options.arguments)
    explanation = None
    if definition is not None and isinstance(arguments, dict) and verdict.verdict != "invalid":
        request = PolicyQuery(definition, arguments, occasion)
        explanation = explain_call(config.policy, request, consult_here())
    _print(verdict, explanation, as_json=options.as_json)
    return Exit.OK


def _print(verdict: Verdict, explanation: PolicyExplanation | None, *, as_json: bool) -> None:
    steps = explanation.steps if explanation else ()
    if as_json:
        facts = {n: getattr(verdict, n) for n in ("tool", "verdict", "rule", "reason")}
        problems = [problem.to_json() for problem in verdict.problems]
        shown = [step.to_json() for step in steps]
        out_json({**facts, "problems": problems, "steps": shown})
        return
    for step in steps:
        because = f": {', '.join(step.because)}" if step.because else ""
        out(f"  {step.rule} ({step.decision}) {step.outcome}{because}")
    by = f" by {verdict.rule}" if verdict.rule else ""
    out(f"{verdict.verdict}{by}{': ' + verdict.reason if verdict.reason else ''}")
    for problem in verdict.problems:
        out(f"  {problem_text(problem)}")


async def _toolset(config: Config, folders: tuple[Path, ...]) -> Toolset:
    """The tools that a report of this project may use."""
    world = WorldResources(config, memory_storage())
    async with build_servers(world) as servers:
        box = build_tools(
            [*config.tools, *folders, *await servers.offered()],
            kind="deliver",
            world=world,
            servers=servers,
            capabilities=config.capabilities,
        )
        return box.toolset
