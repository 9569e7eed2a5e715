"""``artificer run``: run a prompt until it is finished."""

from __future__ import annotations

from pathlib import Path

import click

from artificer.agent import Agent
from artificer.agent_definition import ModelSettings
from artificer.cli.commands.run import RunOptions
from artificer.cli.execution.follow import following_run
from artificer.cli.execution.limits import limits_in
from artificer.cli.execution.outcome import deliver
from artificer.cli.execution.prompt import read_prompt
from artificer.cli.interruptible import interruptible
from artificer.cli.opened_world import opened_world
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import approver_for
from artificer.cli.terminal.exits import Exit
from artificer.contracts.capabilities import Capabilities, Grant, Host
from artificer.contracts.response_format import MAX_SCHEMA
from artificer.contracts.workspace_names import name_fault
from artificer.core.spec import Limits
from artificer.values.base import JsonObject
from artificer.values.model import ToolChoice
from artificer.values.strict_json import parse_value


@interruptible
async def run(settings: Settings, options: RunOptions) -> Exit:
    """Run a prompt and deliver its outcome."""
    prompt = read_prompt(options.prompt)
    schema = None if options.schema is None else _read_schema(options.schema)
    limits = limits_in(options.max_turns, options.max_tokens, options.max_cost)
    with following_run(settings) as progress:
        async with opened_world(settings, options) as world:
            policy = world.config.policy
            finished = await world.run(
                prompt,
                Agent(
                    model=options.model,
                    kind=options.kind,
                    tools=options.tools,
                    only=options.offer or None,
                    policy=policy.narrowed(options.allow) if options.allow else None,
                    capabilities=_capabilities(world.config.capabilities, options),
                    instructions=options.system,
                    output=schema,
                    limits=Limits(**limits) if limits else None,
                    settings=ModelSettings(
                        tool_choice=tuple(_tool_choice(word) for word in options.choices)
                    ),
                ),
                approver=approver_for(progress.screen, unattended=options.unattended),
                observer=progress,
            )
            return await deliver(world, finished, progress, options)


def _capabilities(configured: Capabilities, options: RunOptions) -> Capabilities:
    """The configured capabilities, with those that the command line replaces."""
    replaced: dict[str, object] = {}
    if options.folder is not None:
        host = configured.host or Host(folder=".")
        replaced["host"] = host.replace(folder=str(options.folder))
    for name in options.workspaces:
        if fault := name_fault(name):
            raise click.UsageError(f"The workspace's name {name!r} {fault}.")
    if options.workspaces:
        replaced["workspaces"] = (Grant(names=options.workspaces),)
    if options.introspect:
        replaced["introspect"] = True
    return configured.replace(**replaced)


def _read_schema(path: Path) -> JsonObject:
    """The JSON Schema in a file. Raises UsageError."""
    data = path.read_bytes()
    if len(data) > MAX_SCHEMA:
        raise click.UsageError(f"{path} is longer than {MAX_SCHEMA} bytes.")
    schema = parse_value(data.decode(errors="replace"))
    if isinstance(schema, tuple):
        raise click.UsageError(f"{path} is not a JSON Schema: {schema[0].message}.")
    if not isinstance(schema, dict):
        raise click.UsageError(f"{path} is not a JSON Schema: it must be a JSON object.")
    return schema


def _tool_choice(word: str) -> ToolChoice:
    match word:
        case "auto" | "none" | "required":
            return ToolChoice(mode=word)
        case _:
            return ToolChoice(mode="tool", name=word)
