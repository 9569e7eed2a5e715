"""Plans, specs and phases of a given size, and the whole check that the gate makes."""

from __future__ import annotations

from typing import Any

from artificer.artifacts import build_catalog, catalog
from artificer.artifacts.build_catalog import RequiredArtifact
from artificer.artifacts.ref import BuildArtifactKind
from artificer.contracts.schema import compile_schema
from artificer.values.base import Problem


def plan(*names: str, **dependencies: list[str]) -> dict[str, Any]:
    """A plan of these specs; the dependencies of ``a-b`` are given as ``a_b``."""
    specs = [
        {
            "name": name,
            "title": name.title(),
            "description": f"Make {name}.",
            **(
                {"dependencies": dependencies[key]}
                if (key := name.replace("-", "_")) in dependencies
                else {}
            ),
        }
        for name in names
    ]
    return {"title": "A plan", "overview": "What it brings about.", "specs": specs}


def spec(count: int = 3, name: str = "auth") -> dict[str, Any]:
    phases = [
        {"name": f"phase-{n}", "title": f"Phase {n}", "description": "A step."}
        for n in range(1, count + 1)
    ]
    return {"name": name, "title": "Auth", "overview": "Log in.", "phases": phases}


def phase(*tasks: dict[str, Any], name: str = "phase-1", command: str = "pytest") -> dict[str, Any]:
    return {
        "name": name,
        "title": "Phase 1",
        "objective": "A first step.",
        "tasks": list(tasks) or [{"description": "Write it."}],
        "validation_command": command,
    }


VALID: dict[BuildArtifactKind, dict[str, Any]] = {
    "plan": plan("a", "b", b=["a"]),
    "spec": spec(),
    "phase": phase(),
    "completion": {"summary": "It is done."},
    "judgement": {"verdict": "accept", "criteria": []},
}


def problems(
    arguments: dict[str, Any], owed: RequiredArtifact | BuildArtifactKind
) -> tuple[Problem, ...]:
    """Schema problems and semantic ones, as the gate reports them to the run that owes this."""
    tool = build_catalog.tool_for(
        owed if isinstance(owed, RequiredArtifact) else RequiredArtifact(kind=owed)
    )
    schema = compile_schema(tool.input_schema)
    return (*schema.problems(arguments), *catalog.check(tool.name, arguments, ()))


def pointers(arguments: dict[str, Any], owed: RequiredArtifact | BuildArtifactKind) -> list[str]:
    """Where the problems are."""
    return [problem.pointer for problem in problems(arguments, owed)]
