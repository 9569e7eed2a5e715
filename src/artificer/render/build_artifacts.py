"""Plans, specs and phases as Markdown for people: rendered from the stored artifact.

The same artifact gives the same bytes. Everything a model wrote is escaped, so a description cannot
add headings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from artificer.artifacts.build_catalog import BuildArtifact
from artificer.artifacts.completion import Completion
from artificer.artifacts.judgement import Judgement
from artificer.artifacts.phase import Phase, Task
from artificer.artifacts.plan import Plan
from artificer.artifacts.spec import Spec
from artificer.render.text import code_span, escape_markdown


def build_artifact_markdown(artifact: BuildArtifact) -> str:
    """Return the artifact as Markdown."""
    match artifact:
        case Plan():
            blocks = _plan(artifact)
        case Spec():
            blocks = _spec(artifact)
        case Phase():
            blocks = _phase(artifact)
        case Completion():
            blocks = _completion(artifact)
        case Judgement():
            blocks = _judgement(artifact)
    return "\n\n".join(blocks) + "\n"


def _plan(plan: Plan) -> Iterator[str]:
    yield f"# {escape_markdown(plan.title)}"
    yield from _section("Overview", _paragraphs(plan.overview))
    yield "## Specs"
    for number, spec in enumerate(plan.specs, 1):
        yield f"### {number}. {escape_markdown(spec.title)}"
        yield f"**Name:** {code_span(spec.name)}"
        yield _paragraphs(spec.description)
        if spec.dependencies:
            yield f"**Dependencies:** {', '.join(map(code_span, spec.dependencies))}"
    if plan.constants:
        yield "## Constants"
        yield "\n".join(
            f"- {code_span(c.name)} = {code_span(c.value)}"
            + (f": {escape_markdown(c.purpose)}" if c.purpose else "")
            for c in plan.constants
        )
    yield from _notes("Non-Goals", plan.non_goals)
    yield from _notes("Risks", plan.risks)


def _spec(spec: Spec) -> Iterator[str]:
    yield f"# {escape_markdown(spec.title)}"
    yield f"**Name:** {code_span(spec.name)}"
    yield from _section("Overview", _paragraphs(spec.overview))
    yield "## Phases"
    for number, phase in enumerate(spec.phases, 1):
        yield f"### {number}. {escape_markdown(phase.title)}"
        yield f"**Name:** {code_span(phase.name)}"
        yield _paragraphs(phase.description)
        if phase.files:
            yield f"**Files:** {', '.join(map(code_span, phase.files))}"
        if phase.validation:
            yield f"**Validation:** {escape_markdown(phase.validation)}"
    yield from _notes("Acceptance Criteria", spec.acceptance_criteria)
    if spec.test_strategy:
        yield from _section("Test Strategy", _paragraphs(spec.test_strategy))


def _phase(phase: Phase) -> Iterator[str]:
    yield f"# {escape_markdown(phase.title)}"
    yield f"**Name:** {code_span(phase.name)}"
    yield from _section("Objective", _paragraphs(phase.objective))
    yield from _section("Tasks", "\n".join(_task(n, t) for n, t in enumerate(phase.tasks, 1)))
    yield from _section("Validation", code_span(phase.validation_command))
    yield from _notes("Success Criteria", phase.success_criteria)


def _task(number: int, task: Task) -> str:
    where = " ".join(filter(None, (task.action or "", code_span(task.file) if task.file else "")))
    return f"{number}. {escape_markdown(task.description)}" + (f" ({where})" if where else "")


def _completion(completion: Completion) -> Iterator[str]:
    yield "# Nothing to do" if completion.nothing_to_do else "# Completed"
    yield _paragraphs(completion.summary)


def _judgement(judgement: Judgement) -> Iterator[str]:
    yield f"# {'Accepted' if judgement.accepted else 'Rejected'}"
    judged = (
        f"{j.criterion}. {'met' if j.met else '**not met**'}: {escape_markdown(j.evidence)}"
        for j in judgement.criteria
    )
    if judgement.criteria:
        yield from _section("Criteria", "\n".join(judged))
    yield from _notes("Problems", judgement.problems)
    yield from _notes("Advice", judgement.advice)


def _section(heading: str, body: str) -> Iterator[str]:
    yield f"## {heading}"
    yield body


def _notes(heading: str, notes: Iterable[str]) -> Iterator[str]:
    if lines := "\n".join(f"- {escape_markdown(note)}" for note in notes):
        yield from _section(heading, lines)


def _paragraphs(text: str) -> str:
    """Return the text with its line breaks and paragraphs kept."""
    lines = [escape_markdown(line) for line in text.strip().splitlines()]
    joined = ""
    for line in lines:
        if not line:
            joined = joined.rstrip("\n") + "\n\n"
        else:
            joined += ("  \n" if joined and not joined.endswith("\n") else "") + line
    return joined.strip()
