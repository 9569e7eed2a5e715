"""The tools that a ``[session]`` declares: one for each command, named ``tool.command``.

Those of a child session are ``tool.child.command``. They are there from the beginning, because a
run's tools are; before the child is open their calls are answered with that.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from artificer.backends.session.spec.keys import SessionCommandKeys, SessionKeys
from artificer.backends.session.spec.line import MAX_LINE_BYTES, LineForm, matches, placeholders
from artificer.backends.session.spec.prompts import Seat
from artificer.contracts.arguments.check import Fault, argument_faults
from artificer.contracts.arguments.types import Argument, schema_of
from artificer.contracts.definition import RISKS, ToolDefinition
from artificer.contracts.scope import Scope
from artificer.errors import AuthorError
from artificer.manifests.keys import ToolKeys

ENDING_SECONDS = 5
"""Extra time for a call after its timeout, to interrupt the program or else end it."""

_ONE_WORD = (
    *("integer", "number", "port", "boolean", "enum"),
    *("ip_address", "cidr", "scope_target", "duration"),
)
"""Types whose values cannot change the meaning of the rest of a line."""


@dataclass(frozen=True)
class SessionCommand:
    """One command of a session: the tool, how it makes its line, who must be there to read it."""

    definition: ToolDefinition
    form: LineForm
    seconds: int
    seat: Seat = Seat.OWN


@dataclass(frozen=True)
class SessionContract:
    """A session's two sections."""

    tool: ToolKeys
    session: SessionKeys


def session_commands(
    tool: ToolKeys, session: SessionKeys, scope: Scope | None, child: SessionContract | None = None
) -> tuple[SessionCommand, ...]:
    """The commands of a session that has no faults, and of its child, in the manifests' order."""
    own = [
        SessionCommand(
            _definition(tool, session, name, command),
            _form(session, command, scope),
            tool.timeout_seconds,
        )
        for name, command in session.commands.items()
    ]
    return (*own, *(_of_child(tool, session, child, scope) if child else ()))


def _of_child(
    tool: ToolKeys, session: SessionKeys, child: SessionContract, scope: Scope | None
) -> Iterator[SessionCommand]:
    """A child is never less restricted than what opens it: the stricter of the two holds."""
    named = child.tool.replace(
        name=f"{tool.name}.child", human_approval=tool.human_approval or child.tool.human_approval
    )
    for name, command in child.session.commands.items():
        risk = max(command.risk_tier or named.risk_tier, tool.risk_tier, key=RISKS.index)
        held = command.replace(risk_tier=risk)
        # The program may first have to be started, in the time that it is given for that.
        seconds = {"startup_timeout_seconds": session.startup_timeout_seconds}
        definition = _definition(named, child.session.replace(**seconds), name, held)
        form = _form(child.session, command, scope)
        yield SessionCommand(definition, form, named.timeout_seconds, Seat.CHILD)


def child_faults(tool: ToolKeys, child: SessionContract) -> Iterator[str]:
    """Why a session cannot be the child of another one."""
    if child.session.child_detection is not None:
        yield "has a child session of its own: one level is all there is"
    if not child.session.ready_pattern:
        yield "has no ready_pattern, so nothing tells its prompt from its parent's"
    for name in child.session.commands:
        if len(f"{tool.name}.child.{name}") > 64:
            yield f"has a command, {name}, whose whole name has more than 64 characters"


def session_faults(tool: ToolKeys, session: SessionKeys) -> Iterator[Fault]:
    """Yield the faults within a ``[session]``."""
    where = ("session",)
    try:
        if session.startup_command and not shlex.split(session.startup_command):
            yield Fault((*where, "startup_command"), "does not name a program")
    except ValueError as error:
        yield Fault((*where, "startup_command"), f"cannot be split into words: {error}")
    yield from _pattern_faults((*where, "ready_pattern"), session.ready_pattern)
    if session.child_detection is not None:
        yield from _pattern_faults(
            (*where, "child_detection", "pattern"), session.child_detection.pattern
        )
        if not session.ready_pattern:
            message = "is empty, so nothing tells its prompt from its child's"
            yield Fault((*where, "ready_pattern"), message)
    for name, command in session.commands.items():
        path = (*where, "commands", name)
        if len(f"{tool.name}.{name}") > 64:
            yield Fault(path, "and the tool's name together have more than 64 characters")
        if command.pattern is not None:
            yield from _pattern_faults((*path, "pattern"), command.pattern)
        yield from _command_faults(path, command)


def _pattern_faults(path: tuple[str, ...], pattern: str) -> Iterator[Fault]:
    try:
        matches(pattern, "")
    except AuthorError:
        yield Fault(path, "is not a regular expression that runs in linear time")


def _command_faults(path: tuple[str, ...], command: SessionCommandKeys) -> Iterator[Fault]:
    if not command.args:
        if command.pattern is None:
            yield Fault((*path, "pattern"), "is missing: it decides which lines may be sent")
        if command.template is not None:
            yield Fault((*path, "template"), "has no effect without args")
        return
    if command.template is None:
        yield Fault((*path, "template"), "is missing: it turns args into a line")
        return
    for name in placeholders(command.template):
        if name not in command.args:
            yield Fault((*path, "template"), f"{name!r} is not an argument")
    for name, argument in command.args.items():
        if name not in placeholders(command.template):
            yield Fault((*path, "args", name), "is not used in the template")
        for fault in (*argument_faults(argument), *_place_faults(argument)):
            yield fault._replace(path=(*path, *fault.path))


def _place_faults(argument: Argument) -> Iterator[Fault]:
    """Yield the faults of an argument whose value becomes part of a line."""
    path = ("args", argument.name)
    if not argument.required and argument.default is None:
        yield Fault(path, "needs 'required = true' or a default")
    for key in ("list", "multiline"):
        if getattr(argument, key):
            yield Fault((*path, key), "has no effect in a line")
    if argument.type not in _ONE_WORD and not (argument.pattern or argument.allowed):
        message = "is missing: nothing else would hold the value to its place in the line"
        yield Fault((*path, "pattern"), message)


def _arguments(session: SessionKeys, command: SessionCommandKeys) -> tuple[Argument, ...]:
    sanitize = session.interaction.input_sanitize
    if not command.args:
        line = Argument(
            name="command",
            pattern=command.pattern,
            description="The line, exactly as the program is to read it.",
            required=True,
            sanitize=sanitize,
        )
        return (line,)
    found = sorted(command.args.values(), key=lambda argument: argument.position)
    return tuple(a.replace(sanitize=a.sanitize or sanitize) for a in found)


def _form(session: SessionKeys, command: SessionCommandKeys, scope: Scope | None) -> LineForm:
    return LineForm(
        template=command.template or "{command}",
        arguments=_arguments(session, command),
        pattern=command.pattern,
        extract_target=command.extract_target,
        scope=scope,
    )


def _definition(
    tool: ToolKeys, session: SessionKeys, name: str, command: SessionCommandKeys
) -> ToolDefinition:
    arguments = _arguments(session, command)
    properties = {a.name: schema_of(a) for a in arguments}
    if not command.args:
        properties["command"]["maxLength"] = MAX_LINE_BYTES
    seconds = session.startup_timeout_seconds + tool.timeout_seconds + ENDING_SECONDS
    return ToolDefinition(
        name=f"{tool.name}.{name}",
        description=f"{command.description} (In the session {tool.name}: {tool.description})",
        input_schema={
            "type": "object",
            "properties": dict(properties),
            "required": [a.name for a in arguments if a.required],
            "additionalProperties": False,
        },
        effect=command.effect or tool.effect,
        risk=command.risk_tier or tool.risk_tier,
        human_approval=command.human_approval or tool.human_approval,
        timeout_ms=seconds * 1000,
        backend="session",
        trust=tool.trust or "trusted",
        sensitive=tool.sensitive,
        cedar=tool.cedar,
    )
