"""Judgements: a judge's verdict on an artifact, as a typed call, never as text to parse."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, ClassVar, Literal

from artificer.artifacts.fields import blank, blanks, items, text, text_field
from artificer.artifacts.plan import MAX_NOTE, Notes
from artificer.artifacts.tool import artifact_tool
from artificer.contracts.definition import ToolDefinition
from artificer.values.base import JsonObject, Meta, Problem, Value

FORMAT = "artificer/judgement/1"
MAX_CRITERIA = 40


class Judged(Value):
    """What the judge found about one criterion."""

    criterion: Annotated[int, Meta(ge=1, le=MAX_CRITERIA, description="Number of the criterion.")]
    met: Annotated[bool, Meta(description="Whether it is met.")]
    evidence: Annotated[str, text_field(MAX_NOTE, "What in the work shows it.")]


class JudgementInput(Value):
    """The arguments of ``submit_verdict``. Only criteria and problems block; advice does not."""

    criteria: Annotated[
        tuple[Judged, ...],
        Meta(max_length=MAX_CRITERIA, description="Every criterion, once, by its number."),
    ] = ()
    problems: Annotated[
        Notes, Meta(description="What must be put right before the work can be accepted.")
    ] = ()
    advice: Annotated[Notes, Meta(description="What could be better, but blocks nothing.")] = ()
    verdict: Annotated[
        Literal["accept", "reject"],
        Meta(description="accept if every criterion is met and no problem is left, else reject."),
    ]

    @property
    def accepted(self) -> bool:
        """Whether the work was accepted."""
        return self.verdict == "accept"


class Judgement(JudgementInput, tag_field="format"):
    """A judgement in its stored form."""

    format: ClassVar[Literal["artificer/judgement/1"]] = "artificer/judgement/1"
    tag_is_content = True


NAME = "submit_verdict"


@cache
def tool() -> ToolDefinition:
    """Return the definition of the tool, whose schema is made when it is first offered."""
    return artifact_tool(
        NAME,
        "Say whether the work is accepted. This is the only way to answer; words beside it are not"
        " read.",
        JudgementInput,
    )


def problems(payload: JsonObject) -> Iterator[Problem]:
    """Yield the contradictions of a judgement, which its schema cannot express."""
    yield from blanks(payload, "criteria", "evidence")
    for member in ("problems", "advice"):
        for index, note in enumerate(items(payload, member)):
            yield from blank(note, f"/{member}/{index}")
    seen: dict[int, int] = {}
    unmet: list[int] = []
    for index, finding in enumerate(items(payload, "criteria")):
        if not isinstance(finding, dict):
            continue
        which = finding.get("criterion")
        if not isinstance(which, int):
            continue
        if which in seen:
            yield Problem(
                pointer=f"/criteria/{index}/criterion",
                message=f"was judged at /criteria/{seen[which]} already",
                actual=which,
            )
        seen.setdefault(which, index)
        if finding.get("met") is False:
            unmet.append(index)
    blockers = [f"/criteria/{index}" for index in unmet]
    blockers += [f"/problems/{index}" for index in range(len(items(payload, "problems")))]
    verdict = text(payload, "verdict")
    if verdict == "accept" and blockers:
        yield Problem(
            pointer="/verdict",
            message=f"accepts in spite of {', '.join(blockers[:5])}: reject, or leave those out",
        )
    if verdict == "reject" and not blockers:
        yield Problem(
            pointer="/verdict", message="rejects without a problem or an unmet criterion: name one"
        )
