"""``artificer run``: run a prompt until it is finished."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from artificer.agent import Agent
from artificer.cli.commands.run import RunOptions
from artificer.cli.execution.agents import load_agent
from artificer.cli.execution.follow import following_run
from artificer.cli.execution.limits import limits_in
from artificer.cli.execution.outcome import deliver
from artificer.cli.execution.prompt import read_attachments, read_prompt
from artificer.cli.execution.sampling import settings_in
from artificer.cli.interruptible import interrupted_at_once
from artificer.cli.opened_world import opened_world
from artificer.cli.run.submitted import check_submitted, submit
from artificer.cli.settings import Settings
from artificer.cli.terminal.approver import approver_for
from artificer.cli.terminal.exits import Exit
from artificer.config import Config
from artificer.contracts.capabilities import Capabilities, Grant, Host
from artificer.contracts.response_format import MAX_SCHEMA, format_of
from artificer.contracts.workspace_names import name_fault
from artificer.core.policy import Policy
from artificer.core.spec import Limits
from artificer.errors import AuthorError
from artificer.ports import Prompt
from artificer.values.base import JsonObject
from artificer.values.model import ToolChoice
from artificer.values.strict_json import parse_value


async def run(settings: Settings, options: RunOptions) -> Exit:
    """Run a prompt and deliver its outcome."""
    check_submitted(options)
    prompt = _prompt(options)
    schema = None if options.schema is None else _read_schema(options.schema)
    if options.submit:
        async with opened_world(settings, options) as world:
            return await submit(world, prompt, _agent(world.config, options, schema), options)
    with following_run(settings) as progress:
        async with opened_world(settings, options) as world:
            finished = await world.run(
                prompt,
                _agent(world.config, options, schema),
                approver=approver_for(progress.screen, unattended=options.unattended),
                observer=progress,
            )
            return await deliver(world, finished, progress, options)


def _agent(config: Config, options: RunOptions, schema: JsonObject | None) -> Agent:
    """The agent of --agent, or the default one, with what other options replace."""
    agent = load_agent(options.agent, options.tools)
    limits = limits_in(options.max_turns, options.max_tokens, options.max_cost)
    replaced: dict[str, Any] = {
        "model": options.model or None,
        "kind": options.kind,
        "only": options.offer or None,
        "policy": _narrowed(agent.policy or config.policy, options.allow),
        "capabilities": _capabilities(agent.capabilities or config.capabilities, options),
        "instructions": options.system,
        "output": schema,
    }
    if limits:
        replaced["limits"] = agent.limits.replace(**limits) if agent.limits else Limits(**limits)
    replaced["settings"] = settings_in(agent, options, tuple(map(_tool_choice, options.choices)))
    return replace(agent, **{name: value for name, value in replaced.items() if value is not None})


def _narrowed(policy: Policy, allowed: tuple[str, ...]) -> Policy | None:
    return policy.narrowed(allowed) if allowed else None


def _prompt(options: RunOptions) -> Prompt:
    """Return the prompt, with the files that are attached."""
    text = read_prompt(options.prompt)
    attached = read_attachments(options.attach)
    return [text, *attached] if attached else text


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
    with interrupted_at_once():
        data = path.read_bytes()
    if len(data) > MAX_SCHEMA:
        raise click.UsageError(f"{path} is longer than {MAX_SCHEMA} bytes.")
    schema = parse_value(data.decode(errors="replace"))
    if isinstance(schema, tuple):
        raise click.UsageError(f"{path} is not a JSON Schema: {schema[0].message}.")
    if not isinstance(schema, dict):
        raise click.UsageError(f"{path} is not a JSON Schema: it must be a JSON object.")
    try:
        format_of(schema)
    except AuthorError as error:
        raise click.UsageError(f"{path}: {error.message}") from error
    return schema


def _tool_choice(word: str) -> ToolChoice:
    match word:
        case "auto" | "none" | "required":
            return ToolChoice(mode=word)
        case _:
            return ToolChoice(mode="tool", name=word)
