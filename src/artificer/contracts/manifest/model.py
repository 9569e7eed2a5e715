"""Reading a manifest: text in, a typed and checked Manifest out, or all that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pydantic import JsonValue

from artificer.contracts.arguments.bind import Bound, bind
from artificer.contracts.arguments.check import Fault, argument_faults
from artificer.contracts.arguments.types import Argument, schema_of
from artificer.contracts.browser.model import browser_commands, browser_faults
from artificer.contracts.command.argv import Built, Group, build_argv, names_of
from artificer.contracts.command.envelope import output_schema
from artificer.contracts.command.output import format_of
from artificer.contracts.command.read import literal_placeholders, read_groups
from artificer.contracts.definition import Backend, ToolDefinition, trust_of
from artificer.contracts.http.envelope import http_output_schema
from artificer.contracts.http.template import HttpTemplate, read_template
from artificer.contracts.keys.browser import BrowserKeys
from artificer.contracts.keys.http import HttpKeys, McpKeys
from artificer.contracts.keys.manifest import (
    BACKENDS,
    PLACES,
    CommandKeys,
    ExampleKeys,
    ManifestKeys,
    OutputKeys,
    ToolKeys,
)
from artificer.contracts.keys.session import SessionKeys
from artificer.contracts.manifest.check import (
    command_faults,
    executor_faults,
    known_names,
    mapping_faults,
    resource_faults,
)
from artificer.contracts.manifest.custom_types import FolderKeys
from artificer.contracts.manifest.probe import Probe, read_probe
from artificer.contracts.manifest.read import read_keys
from artificer.contracts.manifest.toml_lines import key_lines, line_of
from artificer.contracts.manifest.toml_text import read_toml
from artificer.contracts.schema import compile_schema
from artificer.contracts.scope import Scope
from artificer.contracts.session.model import Contract, session_commands, session_faults
from artificer.errors import AuthorError, ManifestError
from artificer.values.base import JsonObject

SUFFIX = ".clad.toml"
"""How a manifest's file name ends."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A tool as its file declares it. Arguments stand in the order of their positions.

    ``groups`` are the command, unless an ``executor``, a request (``http``) or another server's
    tool (``mcp``) performs it. ``child`` is the manifest of a session that this one opens.
    ``warnings`` say what ``compat`` let pass.
    """

    tool: ToolKeys
    arguments: tuple[Argument, ...]
    groups: tuple[Group, ...] = ()
    executor: str | None = None
    http: HttpTemplate | None = None
    mcp: McpKeys | None = None
    session: SessionKeys | None = None
    child: Manifest | None = None
    browser: BrowserKeys | None = None
    constants: dict[str, JsonValue]
    success_exit: tuple[int, ...] = (0,)
    output: OutputKeys
    scope: Scope | None = None
    probe: Probe | None = None
    examples: tuple[ExampleKeys, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def input_schema(self) -> JsonObject:
        """What the gate holds a model to: every constraint, and no other members."""
        return {
            "type": "object",
            "properties": {a.name: schema_of(a) for a in self.arguments},
            "required": [a.name for a in self.arguments if a.required],
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> JsonObject | None:
        """What a model reads, in every status; None where that is not for the manifest to say:
        where it wants no envelope, and where another server answers.
        """
        if not self.output.envelope or self.backend not in ("command", "http"):
            return None
        schema = output_schema if self.http is None else http_output_schema
        return schema(self.output.result, plain=format_of(self.output) == "text")

    @cached_property
    def definition(self) -> ToolDefinition:
        """The tool as a model and the gate see it."""
        return ToolDefinition(
            name=self.tool.name,
            description=self.tool.description,
            input_schema=self.input_schema,
            effect=self.tool.effect,
            risk=self.tool.risk_tier,
            human_approval=self.tool.human_approval,
            timeout_ms=self.tool.timeout_seconds * 1000,
            backend=self.backend,
            trust=trust_of(self.backend, self.tool.trust),
            sensitive=self.tool.sensitive,
            resources=self.tool.resources,
            cedar=self.tool.cedar,
            origin="" if self.mcp is None else f"mcp:{self.mcp.server}",
            probe=self.probe is not None,
        )

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools that a run is offered: of a session or a browser, one for each command."""
        if self.session is not None:
            child = (
                self.child and self.child.session and Contract(self.child.tool, self.child.session)
            )
            commands = session_commands(self.tool, self.session, self.scope, child or None)
            return tuple(command.definition for command in commands)
        if self.browser is not None:
            return tuple(c.definition for c in browser_commands(self.tool, self.browser))
        return (self.definition,)

    @property
    def backend(self) -> Backend:
        """What performs its calls."""
        if self.http is not None:
            return "http"
        if self.session is not None:
            return "session"
        if self.browser is not None:
            return "browser"
        return "command" if self.mcp is None else "mcp"

    @cached_property
    def wants_folder(self) -> bool:
        """Whether its program is told of a folder that a call has for itself."""
        programs = self.executor or self.output.script
        return programs is not None or not names_of(self.groups).isdisjoint(PLACES)

    @property
    def names_target(self) -> bool:
        """Whether an argument is held to the folder's scope."""
        return any(a.scope_check or a.type == "scope_target" for a in self.arguments)

    def bind(self, given: Mapping[str, JsonValue]) -> Bound:
        """The values of a call whose arguments have passed the input schema."""
        return bind(self.arguments, self.constants, given, self.scope)

    def argv(
        self, given: Mapping[str, JsonValue], places: Mapping[str, str] | None = None
    ) -> Built:
        """The command for arguments that have passed the input schema.

        ``places`` are the values of ``_scan_id``, ``_evidence_dir`` and ``_output_file``.
        """
        return self.build(self.bind(given), places)

    def build(self, bound: Bound, places: Mapping[str, str] | None = None) -> Built:
        """The command for values that have been bound."""
        if bound.problems:
            return Built(problems=bound.problems)
        return build_argv(self.groups, self.arguments, {**bound.values, **(places or {})})


def parse_manifest(
    text: str, file: str, *, folder: FolderKeys | None = None, compat: bool = False
) -> Manifest:
    """Read one ``*.clad.toml`` file; ``file`` is its name, for messages.

    ``folder`` is what its ``toolclad.toml`` says. With ``compat``, what the reference lets pass
    and is safe to let pass is a warning.

    Raises:
        ManifestError: with one line, ``file:line: key: what is wrong``, for each fault.
    """
    try:
        data = read_toml(text)
    except ValueError as error:
        raise ManifestError(f"{file}: not valid TOML: {error}") from error
    folder = folder or FolderKeys()
    faults: list[Fault] = []
    stem = file.rpartition("/")[2].removesuffix(SUFFIX)
    keys = read_keys(data, folder.types, faults, compat=compat, stem=stem)
    manifest = _assemble(keys, folder, faults, compat=compat) if keys else None
    fatal = [fault for fault in faults if not (compat and fault.lenient)]
    if manifest is None or fatal:
        raise ManifestError("\n".join(_told(text, file, fatal or faults)))
    if not faults:
        return manifest
    return replace(manifest, warnings=tuple(_told(text, file, faults)))


def _told(text: str, file: str, faults: list[Fault]) -> list[str]:
    lines = key_lines(text)
    told = sorted({(line_of(lines, f.path), ".".join(f.path), f.message) for f in faults})
    return [f"{file}:{n}: {key}: {what}" for n, key, what in told]


def _assemble(
    keys: ManifestKeys, folder: FolderKeys, faults: list[Fault], *, compat: bool
) -> Manifest | None:
    keys = _checked_arguments(keys, faults, compat=compat)
    faults += _backend_faults(keys)
    faults += resource_faults(keys)
    groups = _read_command(keys, keys.command, faults, compat=compat) if keys.command else ()
    http = _read_http(keys, keys.http, faults) if keys.http else None
    faults += [*_mcp_faults(keys), *session_faults(keys), *browser_faults(keys)]
    faults += _output_faults(keys.output)
    probe = read_probe(keys, faults) if keys.tool.probe else None
    if any(not (compat and fault.lenient) for fault in faults):
        return None
    command = keys.command or CommandKeys()
    return Manifest(
        tool=keys.tool,
        arguments=tuple(sorted(keys.args.values(), key=lambda argument: argument.position)),
        groups=groups,
        executor=command.executor,
        http=http,
        mcp=keys.mcp,
        session=keys.session,
        browser=keys.browser,
        constants=dict(command.defaults),
        success_exit=command.success_exit,
        output=keys.output,
        scope=folder.scope,
        probe=probe,
        examples=keys.examples,
    )


def _checked_arguments(keys: ManifestKeys, faults: list[Fault], *, compat: bool) -> ManifestKeys:
    """Add the faults of arguments; with ``compat``, take out defaults that are of no use."""
    kept = {}
    for name, argument in keys.args.items():
        found = argument_faults(argument)
        faults += found
        if compat:
            update: dict[str, object] = {"sanitize": ("injection",)}
            if any(fault.path[2:] == ("default",) for fault in found):
                update["default"] = None
            argument = argument.model_copy(update=update)
        kept[name] = argument
    return keys.model_copy(update={"args": kept}) if compat else keys


def _backend_faults(keys: ManifestKeys) -> list[Fault]:
    there = [name for name in BACKENDS if getattr(keys, name, None) is not None]
    if not there and keys.tool.dispatch != "callback":
        return [Fault(("command",), "is missing: nothing says how the tool is performed")]
    return [
        Fault((name,), f"is a second backend: there is [{there[0]}] already") for name in there[1:]
    ]


def _read_command(
    keys: ManifestKeys, command: CommandKeys, faults: list[Fault], *, compat: bool
) -> tuple[Group, ...]:
    groups = read_groups(command, faults)
    if command.executor is not None:
        faults += [*executor_faults(keys), *mapping_faults(keys, command)]
    elif groups:
        faults += command_faults(keys, command, groups)
    if compat:
        known = known_names(keys, command)
        groups = tuple(literal_placeholders(group, known) for group in groups)
    return groups


def _read_http(keys: ManifestKeys, http: HttpKeys, faults: list[Fault]) -> HttpTemplate | None:
    template, misread = read_template(http, keys.args)
    faults += [Fault(("http", *fault.key.split(".", 1)), fault.message) for fault in misread]
    return template


def _mcp_faults(keys: ManifestKeys) -> list[Fault]:
    mapped = keys.mcp.field_map if keys.mcp else {}
    return [Fault(("mcp", "field_map", n), "is no argument") for n in mapped if n not in keys.args]


def _output_faults(output: OutputKeys) -> list[Fault]:
    faults = []
    if output.parser and ":" in output.parser:
        kind, _, name = output.parser.partition(":")
        if kind != "builtin" or name not in ("text", "json", "jsonl", "csv", "xml"):
            faults.append(Fault(("output", "parser"), f"{output.parser!r} is no parser"))
    if output.result is not None:
        try:
            compile_schema(output.result)
        except AuthorError as error:
            faults.append(Fault(("output", "schema"), str(error).splitlines()[0]))
    return faults
