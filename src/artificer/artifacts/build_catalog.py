"""The artifacts of builds: plans, specs, phases, completions and judgements.

A run of a build gets the one tool of its required artifact, and no other tool of this catalog: in a
spec run, a plan tool is an unknown tool. The values fixed by its parent (the name, the allowed
validation commands, the criteria to judge) are part of that tool's schema, so the gate enforces
them, and they are recorded with the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from msgspec import Struct

from artificer.artifacts import completion, judgement, phase, plan, spec
from artificer.artifacts.command_line import allowed_pattern
from artificer.artifacts.completion import Completion
from artificer.artifacts.fields import text
from artificer.artifacts.judgement import Judgement
from artificer.artifacts.phase import Phase
from artificer.artifacts.plan import Plan
from artificer.artifacts.ref import BuildArtifactKind
from artificer.artifacts.spec import Spec
from artificer.contracts.definition import ToolDefinition
from artificer.errors import InvalidValueError, OperatorError
from artificer.values.base import JsonObject, Problem, Value, ValueReader
from artificer.values.canon import canonical

BuildArtifact = Plan | Spec | Phase | Completion | Judgement

_stored: ValueReader[BuildArtifact] = ValueReader(BuildArtifact, "the artifact")


class _Kind(Struct, frozen=True):
    name: str
    tool: Callable[[], ToolDefinition]
    takes: type[Value]
    stored: type[BuildArtifact]
    format: str
    problems: Callable[[JsonObject], Iterator[Problem]]
    holds: tuple[str, str] = ("", "")


_KINDS: dict[BuildArtifactKind, _Kind] = {
    "plan": _Kind(
        plan.NAME, plan.tool, plan.PlanInput, Plan, plan.FORMAT, plan.problems, ("specs", "spec")
    ),
    "spec": _Kind(
        spec.NAME, spec.tool, spec.SpecInput, Spec, spec.FORMAT, spec.problems, ("phases", "phase")
    ),
    "phase": _Kind(
        phase.NAME,
        phase.tool,
        phase.PhaseInput,
        Phase,
        phase.FORMAT,
        phase.problems,
        ("tasks", "task"),
    ),
    "completion": _Kind(
        completion.NAME,
        completion.tool,
        completion.CompletionInput,
        Completion,
        completion.FORMAT,
        completion.problems,
    ),
    "judgement": _Kind(
        judgement.NAME,
        judgement.tool,
        judgement.JudgementInput,
        Judgement,
        judgement.FORMAT,
        judgement.problems,
    ),
}
_BY_TOOL: dict[str, BuildArtifactKind] = {kind.name: name for name, kind in _KINDS.items()}


class RequiredArtifact(Value):
    """The artifact that a run has to deliver, with the values fixed by its parent.

    ``name`` is the parent's name for it, ``commands`` are the allowed beginnings of a validation
    command (an empty tuple allows all), ``criteria`` is the number of criteria to judge.
    """

    kind: BuildArtifactKind
    name: str = ""
    commands: tuple[str, ...] = ()
    criteria: int = 0


def is_build_tool(name: str) -> bool:
    """Return whether the tool makes an artifact of a build."""
    return name in _BY_TOOL


def kind_of(tool: str) -> BuildArtifactKind:
    """Return the kind of artifact that the tool makes."""
    return _BY_TOOL[tool]


def tool_of(kind: BuildArtifactKind) -> str:
    """Return the name of the tool that makes this kind."""
    return _KINDS[kind].name


def tool_for(required: RequiredArtifact) -> ToolDefinition:
    """Return the tool for a required artifact, with the parent's values fixed in its schema."""
    tool = _KINDS[required.kind].tool()
    schema: dict[str, Any] = deepcopy(tool.input_schema)
    members = schema["properties"]
    if required.name and required.kind in ("spec", "phase"):
        members["name"] = {
            "type": "string",
            "enum": [required.name],
            "description": "Its name, as its parent says it.",
        }
    if required.commands and required.kind == "phase":
        members["validation_command"]["pattern"] = allowed_pattern(required.commands)
    if required.kind == "judgement":
        members["criteria"] |= {"minItems": required.criteria, "maxItems": required.criteria}
        if required.criteria:
            members["criteria"]["items"]["properties"]["criterion"]["maximum"] = required.criteria
            schema["required"] = ["criteria", *schema["required"]]
    return tool.replace(input_schema=schema)


def check(tool: str, arguments: JsonObject) -> tuple[Problem, ...]:
    """Return every problem of the call that the tool's input schema does not report."""
    return tuple(_KINDS[_BY_TOOL[tool]].problems(arguments))


def identity(tool: str, arguments: JsonObject) -> tuple[BuildArtifactKind, str, str]:
    """Return kind, id and title of the artifact. The id of an unnamed artifact is its kind.

    A run delivers one artifact, so a later one with the same id replaces it.
    """
    kind = _BY_TOOL[tool]
    return kind, text(arguments, "name") or kind, text(arguments, "title") or ""


def store(tool: str, arguments: JsonObject) -> BuildArtifact:
    """Return accepted arguments in their stored form, with every default filled in."""
    kind = _KINDS[_BY_TOOL[tool]]
    taken = kind.takes.read(canonical(arguments))
    whole = {**taken.to_json(), "format": kind.format}
    return kind.stored.from_json(whole)


def read(kind: BuildArtifactKind, data: bytes) -> BuildArtifact:
    """Read a stored artifact.

    Raises:
        OperatorError: this release cannot read its format, or it is not such an artifact.
    """
    try:
        artifact = _stored.read(data)
        if isinstance(artifact, _KINDS[kind].stored):
            return artifact
        raise InvalidValueError(f"The {kind}", "/format", "is that of another kind")
    except InvalidValueError as error:
        raise OperatorError(
            f"This {kind} cannot be read: {error.pointer or 'the whole'} {error.reason}.",
            hint=f"This release reads {_KINDS[kind].format}; a newer one may have written it.",
        ) from error


def describe(tool: str, artifact: BuildArtifact) -> str:
    """Return the result for the model, about the artifact it made."""
    kind = _BY_TOOL[tool]
    match artifact:
        case Judgement():
            return "Verdict submitted"
        case Completion():
            return "Completed"
    member, noun = _KINDS[kind].holds
    count = len(getattr(artifact, member))
    return f"{kind.capitalize()} created with {count} {noun if count == 1 else noun + 's'}"
