"""The JSON that the API answers: one type for each, and how it is made of a run."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from artificer.builds.scheduler import question_of
from artificer.builds.state import consents_of
from artificer.events import RunEvent
from artificer.runs import Run
from artificer.runtime.builds.tree import BuildNode
from artificer.runtime.family import ChildNode
from artificer.runtime.listing.lister import ListedRun
from artificer.runtime.listing.search import Hit
from artificer.runtime.proving.replay import Replay
from artificer.runtime.proving.verify import Verification
from artificer.studio.tokens import ApiToken
from artificer.values.model import Usage

MAX_QUESTIONS = 100
"""Limit on the questions of one run that are listed."""


class CallerAnswer(Struct, frozen=True):
    """Who sends the request, as it is recorded, and what they may do."""

    name: str
    scopes: tuple[str, ...]


class RunPage(Struct, frozen=True):
    """A page of runs. ``next`` is the ``before`` of the next page; null on the last one.

    ``searched`` is the number of runs that were searched if not all were: the first list of a
    world is still being prepared.
    """

    runs: tuple[ListedRun, ...]
    next: str | None
    searched: int | None


class WaitingQuestion(Struct, frozen=True):
    """A decision that a run waits for.

    ``kind`` is ``call`` (approve it), ``plan`` (decide on it), ``change`` (consent to it) or
    ``doubt`` (resolve it); a decision names ``digest``, or ``call_id`` for a doubt.
    """

    run: str
    kind: str
    digest: str = ""
    call_id: str = ""
    tool: str = ""
    arguments: str = ""
    reason: str = ""


class ArtifactEntry(Struct, frozen=True):
    """An artifact without its payload."""

    id: str
    kind: str
    title: str
    digest: str


class RunAnswer(Struct, frozen=True):
    """The current state of a run. ``executing`` says whether this studio executes it.

    ``failure`` is why the model could not be reached, ``problem`` why the run stopped here.
    """

    id: str
    kind: str
    status: str
    model: str
    prompt: str
    text: str
    reason: str | None
    failure: str | None
    usage: Usage
    cost_micros: int | None
    executing: bool
    problem: str
    questions: tuple[WaitingQuestion, ...]
    artifacts: tuple[ArtifactEntry, ...]
    children: tuple[str, ...]


class ArtifactList(Struct, frozen=True):
    """The artifacts of a run."""

    artifacts: tuple[ArtifactEntry, ...]


class EventPage(Struct, frozen=True):
    """Recorded events in order. ``next`` is the ``after`` of the next page; null on the last."""

    events: tuple[RunEvent, ...]
    next: int | None


class RelatedRuns(Struct, frozen=True):
    """The runs that a build started, and those of agents that a run called."""

    build: tuple[BuildNode, ...]
    children: tuple[ChildNode, ...]


class InboxAnswer(Struct, frozen=True):
    """The decisions that wait for a person, newest run first. ``next`` is the ``before`` of the
    next page; ``searched`` is that of a `RunPage`.
    """

    questions: tuple[WaitingQuestion, ...]
    next: str | None
    searched: int | None


class HitList(Struct, frozen=True):
    """Records that contain the words, newest first."""

    hits: tuple[Hit, ...]


class Begun(Struct, frozen=True):
    """A run that has its first record."""

    run: str


class Sent(Struct, frozen=True):
    """A signal that waits for the run: its ``number`` there, 0 if none was needed."""

    run: str
    number: int = 0


class ReplayAnswer(Struct, frozen=True):
    """The result of a replay, and whether every digest was the same."""

    identical: bool
    replay: Replay


class VerificationAnswer(Struct, frozen=True):
    """The result of a verification, and whether it found no problem."""

    sound: bool
    verification: Verification


class TokenAnswer(Struct, frozen=True):
    """An API token, without its secret."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created: int
    expires: int


class TokenList(Struct, frozen=True):
    """The API tokens of the project, oldest first."""

    tokens: tuple[TokenAnswer, ...]


def run_answer(run: Run[Any], *, executing: bool, problem: str) -> RunAnswer:
    """Return the current state of a run."""
    spec = run.state.run_spec
    return RunAnswer(
        id=run.id,
        kind=spec.kind,
        status=run.status,
        model=spec.full_name,
        prompt=spec.prompt,
        text=run.text,
        reason=run.reason,
        failure=run.failure,
        usage=run.usage,
        cost_micros=run.state.cost_micros,
        executing=executing,
        problem=problem,
        questions=tuple(questions_of(run)),
        artifacts=artifact_names(run),
        children=run.children,
    )


def artifact_names(run: Run[Any]) -> tuple[ArtifactEntry, ...]:
    """Return the artifacts of the report, or those made so far."""
    delivered = run.deliverable
    refs = run.state.artifacts if delivered is None else delivered.artifacts
    return tuple(ArtifactEntry(ref.id, ref.kind, ref.title, ref.payload) for ref in refs)


def questions_of(run: Run[Any]) -> list[WaitingQuestion]:
    """Return what a run waits for: calls, doubts, and of a build its plan and changes."""
    found = [
        WaitingQuestion(one.run, "call", one.digest, "", one.tool, one.arguments, one.reason)
        for one in run.questions
    ]
    found += [
        WaitingQuestion(run.id, "doubt", "", doubt.call_id, doubt.tool, doubt.arguments or "")
        for doubt in run.doubts
    ]
    build = run.state.build
    if build is not None:
        plan = question_of(build)
        found += [WaitingQuestion(run.id, "plan", plan.digest)] if plan else []
        found += [WaitingQuestion(run.id, "change", job.digest) for job in consents_of(build)]
    return found[:MAX_QUESTIONS]


def token_answer(token: ApiToken) -> TokenAnswer:
    """Return what may be shown of a token."""
    return TokenAnswer(token.id, token.name, token.scopes, token.created, token.expires)
