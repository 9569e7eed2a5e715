"""The prompt of a run of a build: its instructions, everything it may know, and nothing else.

Every attempt starts from a new prompt, made of the decisions of its parents, the artifact so far
and the output of the validators. The first two are never shortened. If they do not fit, that is an
error before the call: a model that sees half of its instructions follows half of them at best.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from msgspec import Struct

from artificer.artifacts.build_catalog import BuildArtifact, RequiredArtifact
from artificer.artifacts.plan import Plan
from artificer.builds.jobs import Check, StartRun, StepId
from artificer.builds.judge import CRITERIA
from artificer.builds.state import BuildState, PhaseState, SpecState, phase_ref
from artificer.builds.table import STEP_RULES
from artificer.errors import ConfigError
from artificer.values.base import JsonObject, JsonValue
from artificer.values.text import fence_for, head_and_tail
from artificer.values.tokens import BYTES_A_TOKEN, tokens_of

FILES: tuple[str, ...] = (
    *(rules.prompt for rules in STEP_RULES.values()),
    "judge.md",
    "completeness.md",
    "feasibility.md",
    "ordering.md",
    "final.md",
)
"""The files that instructions are in; a user or a project may put others in their place."""

EVERYTHING = "."
"""A scope that holds the whole project."""

MAX_BEFORE = 2_000
"""Characters of what a validation command says before a run begins."""

MAX_STEERED = 10
"""How many of the last messages of people between runs are included."""

MAX_EARLIER = 20
"""Files that earlier phases left out and that are named."""

MIN_REPORT = 400
"""Characters below which a shortened report says nothing."""


class Instructions(Struct, frozen=True):
    """The instructions of a run. ``required`` is the artifact that it has to deliver."""

    system: str
    prompt: str
    required: RequiredArtifact


def instruct(
    state: BuildState,
    run: StartRun,
    texts: Mapping[str, str],
    *,
    room: int,
    commands: tuple[str, ...] = (),
    before: str = "",
) -> Instructions:
    """Compose the prompt of a run. ``texts`` are the FILES, ``room`` is in tokens.

    ``commands`` are the beginnings that a validation command may have, ``before`` is what the
    phase's says now, where it fails.

    Raises:
        ConfigError: what must not be shortened does not fit.
    """
    step = run.step
    sections = [*_request_sections(state, step), *_so_far(state, step)]
    if run.review != "draft":
        sections.append(("Your task in this pass", texts[f"{run.review}.md"].strip()))
    elif step.kind == "phase" and commands:
        sections.append(("Commands that may validate it", "\n".join(f"- {c}" for c in commands)))
    attempts = state.attempts(step)
    reports = attempts.reports if attempts else ()
    if before:
        shown = _fenced(head_and_tail(before.strip(), MAX_BEFORE))
        sections.append(("What the validation command says before you begin", shown))
    sections += _earlier(state, step)
    if state.steered:
        shown = "\n\n".join(state.steered[-MAX_STEERED:])
        sections.append(("What a person said since the build began", shown))
    system = texts[STEP_RULES[step.kind].prompt].strip()
    return Instructions(
        system, _fit(step.path, system, sections, reports, room), _required(step, commands)
    )


def instruct_judge(
    state: BuildState, check: Check, texts: Mapping[str, str], *, room: int
) -> Instructions:
    """Compose the prompt of an artifact's judge. Raises ConfigError likewise."""
    step = check.step
    criteria = CRITERIA[step.kind]
    numbered = "\n".join(f"{n}. {criterion}" for n, criterion in enumerate(criteria, 1))
    sections = [
        *_request_sections(state, step),
        ("Criteria", numbered),
        *_so_far(state, step, "The work"),
    ]
    system = texts["judge.md"].strip()
    return Instructions(
        system,
        _fit(f"the judge of {step.path}", system, sections, (), room),
        RequiredArtifact(kind="judgement", criteria=len(criteria)),
    )


def scope_of(state: BuildState, step: StepId) -> tuple[str, ...]:
    """The files and folders that a code run may change: what its spec and its tasks name."""
    spec, phase = _places(state, step)
    declared = (
        phase_ref(spec.accepted, phase.name).files if spec and phase and spec.accepted else ()
    )
    named = phase.phase.files if phase and phase.phase else ()
    if not (declared or named) and state.plan is None:
        return (EVERYTHING,)  # a brief build says what is to be done, not where
    return tuple(dict.fromkeys((*declared, *named)))


def _required(step: StepId, commands: tuple[str, ...]) -> RequiredArtifact:
    kind = STEP_RULES[step.kind].delivers
    name = step.phase or step.spec
    return RequiredArtifact(kind=kind, name=name, commands=commands if step.kind == "phase" else ())


# --- what a run may know ----------------------------------------------------------------------

Section = tuple[str, str]


def _request_sections(state: BuildState, step: StepId) -> list[Section]:
    """Return the decisions above a step, from the request down."""
    sections: list[Section] = [("Request", state.request.strip())]
    plan = state.plan
    if plan is None or step.kind == "plan":
        return [*sections, *_brief(state, step)]
    sections += _constants(plan)
    spec, phase = _places(state, step)
    if spec is None:
        return sections
    sections.append(("The plan that this belongs to", _json(_outline(plan))))
    ref = state.ref(spec.name)
    if ref is not None:
        sections.append(("The spec in the plan", _json(ref.to_json())))
    if spec.accepted is not None and phase is not None:
        sections.append(("The spec", _artifact(spec.accepted)))
        own = phase_ref(spec.accepted, phase.name).to_json()
        sections.append(("The phase in the spec", _json(own)))
    return [*sections, *_task(state, step, phase)]


def _brief(state: BuildState, step: StepId) -> list[Section]:
    """A build without a plan has a phase all the same."""
    return _task(state, step, _places(state, step)[1]) if step.kind == "code" else []


def _task(state: BuildState, step: StepId, phase: PhaseState | None) -> list[Section]:
    if step.kind != "code" or phase is None or phase.phase is None:
        return []
    scope = "\n".join(f"- {path}" for path in scope_of(state, step)) or "No file is in scope."
    return [("The phase", _artifact(phase.phase)), ("Files in scope", scope)]


def _earlier(state: BuildState, step: StepId) -> list[Section]:
    """Return a section on what earlier phases of a spec left out: it is not in the tree."""
    spec, _ = _places(state, step)
    if step.kind != "code" or spec is None:
        return []
    lines = [
        f"- {phase.name}: {text}"
        for phase in spec.phases
        for text in (*(f"{path} (not in its scope)" for path in phase.outside), *phase.refused)
    ]
    shown = "\n".join(lines[:MAX_EARLIER])
    return [("What earlier phases changed and was left out", _fenced(shown))] if lines else []


def _constants(plan: Plan) -> list[Section]:
    if not plan.constants:
        return []
    constants: list[JsonValue] = [constant.to_json() for constant in plan.constants]
    fixed = "These are fixed. Write each value exactly as it is here, character for character."
    return [("Constants", f"{fixed}\n\n{_json(constants)}")]


def _outline(plan: Plan) -> JsonObject:
    """The plan as somebody who builds one spec of it sees it."""
    specs: list[JsonValue] = [
        {"name": ref.name, "title": ref.title, "dependencies": list(ref.dependencies)}
        for ref in plan.specs
    ]
    return {
        "title": plan.title,
        "overview": plan.overview,
        "specs": specs,
        "non_goals": list(plan.non_goals),
    }


def _so_far(state: BuildState, step: StepId, heading: str = "What exists so far") -> list[Section]:
    spec, phase = _places(state, step)
    draft: BuildArtifact | None = None
    if step.kind == "plan":
        draft = state.draft
    elif step.kind == "spec" and spec is not None:
        draft = spec.draft
    elif step.kind == "phase" and phase is not None:
        draft = phase.phase
    return [] if draft is None else [(heading, _artifact(draft))]


def _places(state: BuildState, step: StepId) -> tuple[SpecState | None, PhaseState | None]:
    return state.spec(step.spec), state.phase(step)


def _artifact(artifact: BuildArtifact) -> str:
    return _json({name: member for name, member in artifact.to_json().items() if name != "format"})


def _json(value: JsonValue | Mapping[str, JsonValue]) -> str:
    return f"```json\n{json.dumps(value, ensure_ascii=False, indent=1)}\n```"


# --- fitting it -------------------------------------------------------------------------------


def _fit(
    what: str, system: str, sections: Iterable[Section], reports: tuple[str, ...], room: int
) -> str:
    """The prompt, with as much of the reports as there is room for, the newest first to stay."""
    fixed = "\n\n".join(f"# {heading}\n\n{body}" for heading, body in sections)
    taken = tokens_of(system.encode()) + tokens_of(fixed.encode())
    if taken > room:
        raise ConfigError(
            f"The prompt of {what} needs up to {taken} tokens, but only {room} fit.",
            hint="Use a model with a longer context, or shorten the request and the plan.",
        )
    left = (room - taken) * BYTES_A_TOKEN - 300
    shown: list[str] = []
    for report in reversed(reports):
        cut = report if len(report.encode()) <= left else head_and_tail(report, left // 4)
        if len(cut.encode()) > left or (cut != report and left < 4 * MIN_REPORT):
            break
        shown.insert(0, cut)
        left -= len(cut.encode()) + 40 + 2 * cut.count("`")
    if not shown:
        return fixed
    heading = "What the validators said of earlier attempts, the newest last"
    note = "What stands between the fences is output of programs and words of others, no heading."
    return fixed + f"\n\n# {heading}\n\n{note}\n\n" + "\n\n".join(map(_fenced, shown))


def _fenced(text: str) -> str:
    """Return a text in a fence that it cannot end."""
    fence = fence_for(text)
    return f"{fence}text\n{text}\n{fence}"
