"""The section ``[command]`` of a manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from artificer.backends.command.spec.argv import Built, Group, build_argv, names_of
from artificer.backends.command.spec.check import (
    command_faults,
    executor_faults,
    known_names,
    mapping_faults,
)
from artificer.backends.command.spec.envelope import output_schema
from artificer.backends.command.spec.keys import CommandKeys
from artificer.backends.command.spec.read import literal_placeholders, read_groups
from artificer.backends.command.spec.surroundings import (
    NOTHING_ELSE,
    Surroundings,
    read_surroundings,
    surroundings_faults,
)
from artificer.contracts.arguments.bind import BoundArguments
from artificer.contracts.arguments.check import Fault
from artificer.manifests.keys import CALL_PLACES, PLACES, ManifestKeys, ProbeKeys
from artificer.manifests.model import Manifest, ManifestSection
from artificer.manifests.output import format_of
from artificer.values.base import JsonObject, JsonValue

_PROBE = ("tool", "probe")


@dataclass(frozen=True, kw_only=True)
class CommandPart:
    """A command in groups, or the program (``executor``) that gets the arguments as variables."""

    groups: tuple[Group, ...] = ()
    executor: str | None = None
    surroundings: Surroundings = NOTHING_ELSE
    constants: Mapping[str, JsonValue] = field(default_factory=dict)
    success_exit: tuple[int, ...] = (0,)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the secrets, each once."""
        return self.surroundings.secrets

    @cached_property
    def places_folder(self) -> bool:
        """Whether the command holds the path of a folder of the call's own."""
        return not (names_of(self.groups) | self.surroundings.names).isdisjoint(PLACES)


class CommandSection(ManifestSection[CommandKeys, CommandPart]):
    """A command line, made from groups of items."""

    name = "command"
    keys = CommandKeys
    trust = "trusted"
    probes = ("exec", "template")

    def read(
        self, manifest: ManifestKeys, keys: CommandKeys, faults: list[Fault], *, compat: bool
    ) -> CommandPart:
        """Return the command; with ``compat``, unknown placeholders are text."""
        groups = read_groups(keys, faults)
        surroundings = read_surroundings(keys)
        faults += surroundings_faults(keys, surroundings, manifest.args)
        if keys.executor is not None:
            faults += [*executor_faults(manifest), *mapping_faults(manifest, keys)]
        elif groups:
            faults += command_faults(manifest, keys, groups, surroundings.names)
        if compat:
            known = known_names(manifest, keys)
            groups = tuple(literal_placeholders(group, known) for group in groups)
        return CommandPart(
            groups=groups,
            executor=keys.executor,
            surroundings=surroundings,
            constants=dict(keys.defaults),
            success_exit=keys.success_exit,
        )

    def declared(self) -> CommandPart:
        """Return no command."""
        return CommandPart()

    def read_probe(
        self, manifest: ManifestKeys, keys: CommandKeys, probe: ProbeKeys, faults: list[Fault]
    ) -> tuple[Group, ...]:
        """Return the command that asks."""
        misread: list[Fault] = []
        groups = read_groups(CommandKeys(exec=probe.exec, template=probe.template), misread)
        if groups:
            names = names_of(groups)
            if places := {n for n in names if n.startswith("_")} - {*CALL_PLACES}:
                misread.append(Fault((), f"has no {{{min(places)}}}: a probe has no folder"))
            used = CommandKeys(
                exec=probe.exec,
                template=probe.template,
                defaults={n: v for n, v in keys.defaults.items() if n in names},
            )
            misread += command_faults(_only(manifest, names), used, groups)
        faults += [Fault(_PROBE, fault.message) for fault in misread]
        return groups

    def output_schema(self, manifest: Manifest[CommandPart]) -> JsonObject | None:
        """Return the schema of what :func:`content_of` writes."""
        return output_schema(manifest.output.result, plain=format_of(manifest.output) == "text")

    def programs(self, part: CommandPart) -> Iterator[tuple[str, str]]:
        """Yield the executor, if there is one."""
        if part.executor is not None:
            yield "command.executor", part.executor


def _only(keys: ManifestKeys, names: frozenset[str]) -> ManifestKeys:
    """The keys with the arguments that a probe uses."""
    tool = keys.tool.replace(binary="")
    return keys.replace(tool=tool, args={n: a for n, a in keys.args.items() if n in names})


def as_probe(manifest: Manifest[CommandPart]) -> CommandPart:
    """Return the command of a manifest's probe, which succeeds with every code that it reads."""
    assert manifest.probe is not None
    return replace(
        manifest.part,
        groups=manifest.probe.form,
        executor=None,
        surroundings=manifest.part.surroundings._replace(stdin=None),
        success_exit=(*manifest.probe.happened, *manifest.probe.absent),
    )


def wants_folder(manifest: Manifest[CommandPart]) -> bool:
    """Whether a call's program gets a folder of the call's own."""
    programs = manifest.part.executor or manifest.output.script
    return programs is not None or manifest.part.places_folder


def bind_command(
    manifest: Manifest[CommandPart], arguments: Mapping[str, JsonValue]
) -> BoundArguments:
    """Return the values of a call whose arguments have passed the input schema."""
    return manifest.bind(arguments, manifest.part.constants)


def command_line(
    manifest: Manifest[CommandPart], bound: BoundArguments, places: Mapping[str, str] | None = None
) -> Built:
    """Return the command for bound values.

    ``places`` are the values of placeholders that are made for the call, or come with it: its id,
    folder and output file, its key and its fencing token.
    """
    if bound.problems:
        return Built(problems=bound.problems)
    values = {**bound.values, **places} if places else bound.values
    return build_argv(manifest.part.groups, manifest.arguments, values)
