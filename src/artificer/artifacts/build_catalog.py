"""The artifacts of the loops: which run owes which, what schemas cannot say, how they are stored.

A run of the loops is offered the one tool of the artifact it owes, and no other of these: a plan
tool called in a spec run is an unknown tool to the gate. What its parent has fixed (the name, the
commands that may validate it, the criteria to judge) is fixed in the schema of the tool that is
offered, so the gate holds it, and it is recorded with the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

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
from artificer.errors import OperatorError
from artificer.values.base import JsonObject, Problem, Value
from artificer.values.canon import canonical

BuildArtifact = Plan | Spec | Phase | Completion | Judgement


@dataclass(frozen=True)
class _Kind:
    tool: ToolDefinition
    takes: type[Value]
    stored: type[BuildArtifact]
    format: str
    problems: Callable[[JsonObject], Iterator[Problem]]
    holds: tuple[str, str] = ("", "")


_KINDS: dict[BuildArtifactKind, _Kind] = {
    "plan": _Kind(
        plan.CREATE_PLAN, plan.PlanInput, Plan, plan.FORMAT, plan.problems, ("specs", "spec")
    ),
    "spec": _Kind(
        spec.CREATE_SPEC, spec.SpecInput, Spec, spec.FORMAT, spec.problems, ("phases", "phase")
    ),
    "phase": _Kind(
        phase.CREATE_PHASE, phase.PhaseInput, Phase, phase.FORMAT, phase.problems, ("tasks", "task")
    ),
    "completion": _Kind(
        completion.COMPLETE_TASK,
        completion.CompletionInput,
        Completion,
        completion.FORMAT,
        completion.problems,
    ),
    "judgement": _Kind(
        judgement.SUBMIT_VERDICT,
        judgement.JudgementInput,
        Judgement,
        judgement.FORMAT,
        judgement.problems,
    ),
}
_BY_TOOL: dict[str, BuildArtifactKind] = {kind.tool.name: name for name, kind in _KINDS.items()}

TOOLS: tuple[ToolDefinition, ...] = tuple(kind.tool for kind in _KINDS.values())
"""The tools of seed 000, with those of a code run and of a judge, before anything is fixed."""


class RequiredArtifact(Value):
    """The artifact that a run has to deliver, with what its parent has fixed of it.

    ``name`` is what the parent calls it, ``commands`` are the beginnings that a validation command
    may have (none allows every one), ``criteria`` is how many there are to judge.
    """

    kind: BuildArtifactKind
    name: str = ""
    commands: tuple[str, ...] = ()
    criteria: int = 0


def is_build_tool(name: str) -> bool:
    """Whether the tool makes an artifact of the loops."""
    return name in _BY_TOOL


def kind_of(tool: str) -> BuildArtifactKind:
    """The kind of artifact that the tool makes."""
    return _BY_TOOL[tool]


def tool_of(kind: BuildArtifactKind) -> str:
    """The name of the tool that makes this kind."""
    return _KINDS[kind].tool.name


def tool_for(owed: RequiredArtifact) -> ToolDefinition:
    """The tool that a run is offered to deliver what it owes, with the parent's part fixed."""
    tool = _KINDS[owed.kind].tool
    schema: dict[str, Any] = deepcopy(tool.input_schema)
    members = schema["properties"]
    if owed.name and owed.kind in ("spec", "phase"):
        members["name"] = {
            "type": "string",
            "enum": [owed.name],
            "description": "Its name, as its parent says it.",
        }
    if owed.commands and owed.kind == "phase":
        members["validation_command"]["pattern"] = allowed_pattern(owed.commands)
    if owed.kind == "judgement":
        members["criteria"] |= {"minItems": owed.criteria, "maxItems": owed.criteria}
        if owed.criteria:
            members["criteria"]["items"]["properties"]["criterion"]["maximum"] = owed.criteria
            schema["required"] = ["criteria", *schema["required"]]
    return tool.model_copy(update={"input_schema": schema})


def check(tool: str, arguments: JsonObject) -> tuple[Problem, ...]:
    """Everything wrong with the call that the tool's input schema does not say already."""
    return tuple(_KINDS[_BY_TOOL[tool]].problems(arguments))


def identity(tool: str, arguments: JsonObject) -> tuple[BuildArtifactKind, str, str]:
    """Kind, id and title of what accepted arguments make. What has no name is called by its kind.

    A run owes one artifact, so a later one of the same id takes its place.
    """
    kind = _BY_TOOL[tool]
    return kind, text(arguments, "name") or kind, text(arguments, "title") or ""


def store(tool: str, arguments: JsonObject) -> BuildArtifact:
    """Read accepted arguments as what is stored of them, with every default in its place."""
    kind = _KINDS[_BY_TOOL[tool]]
    taken = kind.takes.model_validate_json(canonical(arguments))
    whole = {**taken.model_dump(mode="json"), "format": kind.format}
    return _read(kind.stored, canonical(whole))


def read(kind: BuildArtifactKind, data: bytes) -> BuildArtifact:
    """Read a stored artifact.

    Raises:
        OperatorError: it is of a format that this release cannot read, or no such artifact.
    """
    try:
        return _read(_KINDS[kind].stored, data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise OperatorError(
            f"This {kind} cannot be read: {where}: {first['msg']}.",
            hint=f"This release reads {_KINDS[kind].format}; a newer one may have written it.",
        ) from error


def describe(tool: str, artifact: BuildArtifact) -> str:
    """What the model is told about what it made."""
    kind = _BY_TOOL[tool]
    match artifact:
        case Judgement():
            return "Verdict submitted"
        case Completion():
            return "Completed"
    member, noun = _KINDS[kind].holds
    count = len(getattr(artifact, member))
    return f"{kind.capitalize()} created with {count} {noun if count == 1 else noun + 's'}"


Stored = TypeVar("Stored", bound=Value)


def _read(model: type[Stored], data: bytes) -> Stored:
    # Through JSON, because strict models take an array for a tuple only from JSON.
    return model.model_validate_json(data)
