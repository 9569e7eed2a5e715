"""A manifest, and the section of it that says which backend performs the tool's calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel

from artificer.contracts.arguments.bind import BoundArguments, bind
from artificer.contracts.arguments.check import Fault
from artificer.contracts.arguments.types import Argument, schema_of
from artificer.contracts.definition import ToolDefinition, Trust
from artificer.contracts.scope import Scope
from artificer.errors import InvariantError
from artificer.manifests.keys import ExampleKeys, ManifestKeys, OutputKeys, ProbeKeys, ToolKeys
from artificer.manifests.toml_lines import Path
from artificer.values.base import JsonObject, JsonValue

SUFFIX = ".clad.toml"
"""How a manifest's file name ends."""

Keys = TypeVar("Keys", bound=BaseModel)
Part = TypeVar("Part")


@dataclass(frozen=True)
class Probe:
    """A request that asks whether a call happened, in its backend's form, and how to read replies.

    ``happened`` and ``absent`` are the codes that say yes and no.
    """

    keys: ProbeKeys
    form: Any
    happened: tuple[int, ...]
    absent: tuple[int, ...]

    def found(self, code: int | None) -> Literal["happened", "absent", "unknown"]:
        """Return what an exit code, or the status of a response, says."""
        return (
            "happened" if code in self.happened else "absent" if code in self.absent else "unknown"
        )


@dataclass(frozen=True, kw_only=True)
class Manifest(Generic[Part]):
    """A tool as its file declares it. Arguments are in the order of their positions.

    ``part`` is what the section of its backend says. ``warnings`` are what ``compat`` let pass.
    """

    section: ManifestSection[Any, Part]
    part: Part
    tool: ToolKeys
    arguments: tuple[Argument, ...]
    output: OutputKeys
    scope: Scope | None = None
    probe: Probe | None = None
    examples: tuple[ExampleKeys, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def backend(self) -> str:
        """The name of the backend that performs its calls."""
        return self.section.name

    @property
    def input_schema(self) -> JsonObject:
        """The JSON Schema that the gate checks calls against: all constraints, no other members."""
        return {
            "type": "object",
            "properties": {a.name: schema_of(a) for a in self.arguments},
            "required": [a.name for a in self.arguments if a.required],
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> JsonObject | None:
        """The JSON Schema of what a model reads, or None if the manifest does not determine it:
        where it wants no envelope, and where a server answers.
        """
        return self.section.output_schema(self) if self.output.envelope else None

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
            trust=self.tool.trust or self.section.trust,
            sensitive=self.tool.sensitive,
            resources=self.tool.resources,
            cedar=self.tool.cedar,
            origin=self.section.origin(self.part),
            probe=self.probe is not None,
            fenced=self.probe is not None and self.probe.keys.fenced,
        )

    @cached_property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools that a run is offered: one, or those of a section with commands of its own."""
        return self.section.definitions(self)

    @property
    def names_target(self) -> bool:
        """Whether an argument is held to the folder's scope."""
        return any(a.scope_check or a.type == "scope_target" for a in self.arguments)

    def bind(
        self, values: Mapping[str, JsonValue], constants: Mapping[str, JsonValue] | None = None
    ) -> BoundArguments:
        """Return the values of a call whose arguments have passed the input schema."""
        return bind(self.arguments, constants or {}, values, self.scope)


@dataclass(frozen=True)
class ManifestFile(Generic[Part]):
    """A manifest, and the file it came from."""

    manifest: Manifest[Part]
    file: str

    @property
    def definition(self) -> ToolDefinition:
        """The tool as a model and the gate see it."""
        return self.manifest.definition


class ManifestSection(ABC, Generic[Keys, Part]):
    """The pure half of a backend: the section of a manifest that declares one of its tools.

    A subclass gives the section's name and keys, and reads them. It does no I/O: a manifest is
    checked the same way on every machine.

    ``ignorable`` are keys, as paths below the section with ``*`` for any name, that restrict
    nothing: ``compat`` may continue without them. ``restricting`` are tables whose unknown keys may
    restrict something. ``probes`` are the keys of ``[tool.probe]`` by which it can be asked
    whether a call happened.
    """

    name: ClassVar[str]
    keys: ClassVar[type[BaseModel]]
    trust: ClassVar[Trust] = "untrusted"
    ignorable: ClassVar[tuple[Path, ...]] = ()
    restricting: ClassVar[tuple[Path, ...]] = ()
    probes: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def read(
        self, manifest: ManifestKeys, keys: Keys, faults: list[Fault], *, compat: bool
    ) -> Part | None:
        """Return the section's part of a manifest, or None; add all its faults to ``faults``."""

    def read_probe(
        self, manifest: ManifestKeys, keys: Keys, probe: ProbeKeys, faults: list[Fault]
    ) -> Any:
        """Return the form of a probe by one of ``probes``; add all its faults to ``faults``."""
        raise InvariantError(f"The section {self.name!r} names no keys of a probe.")

    def declared(self) -> Part:
        """Return the part of a tool whose calls another program performs (``callback``)."""
        raise InvariantError(f"The section {self.name!r} has no tools of other programs.")

    def definitions(self, manifest: Manifest[Part]) -> tuple[ToolDefinition, ...]:
        """Return the tools that a manifest offers."""
        return (manifest.definition,)

    def output_schema(self, manifest: Manifest[Part]) -> JsonObject | None:
        """Return the JSON Schema of what a model reads, where the manifest determines it."""
        return None

    def origin(self, part: Part) -> str:
        """Return where the tool comes from, as ``NAME:PLACE``, unless that is its folder."""
        return ""

    def programs(self, part: Part) -> Iterator[tuple[str, str]]:
        """Yield the programs of the folder that a part names, each with its key."""
        yield from ()

    def link(self, files: Sequence[ManifestFile[Any]]) -> tuple[list[ManifestFile[Any]], list[str]]:
        """Return a folder's files with those of this section joined, and faults, a line each.

        The files of other sections stay as they are.
        """
        return list(files), []

    def argument_tables(self, table: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the tables of arguments within the section's parsed TOML, with their paths."""
        yield from ()

    def fill_in(self, table: dict[str, Any]) -> Iterator[Fault]:
        """Complete the section's parsed TOML by what the reference does not demand (``compat``)."""
        yield from ()
