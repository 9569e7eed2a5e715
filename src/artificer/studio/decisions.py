"""The open questions of a run: calls, a plan, changes, doubts, and work that failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from artificer.builds.facts import ConsentGiven, Decided
from artificer.builds.jobs import AskConsent
from artificer.builds.scheduler import failed_work, question_of
from artificer.builds.state import consents_of
from artificer.core import events as ev
from artificer.core.intents import AskApproval
from artificer.core.record import IntentLine, Line
from artificer.core.state import Doubt
from artificer.errors import ArtificerError
from artificer.ports import Question
from artificer.runs import History, Run
from artificer.studio.differences import DiffLine, patch_lines
from artificer.studio.plans import PlanVersion, plan_version
from artificer.world import World

MAX_SHOWN = 50
"""Questions of each kind that are shown at a time."""


@dataclass(frozen=True)
class ChangeQuestion:
    """A change that needs consent, and its difference; ``problem`` is why there is none."""

    job: AskConsent
    lines: tuple[DiffLine, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Decisions:
    """The open questions of a run. ``failed`` are the specs of a build that only a person revives;
    an empty name is its plan."""

    run: Run[Any]
    calls: tuple[Question, ...] = ()
    plan: PlanVersion | None = None
    changes: tuple[ChangeQuestion, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether a person is waited for."""
        return bool(self.calls or self.plan or self.changes or self.doubts or self.failed)


async def decisions_of(world: World, history: History) -> Decisions:
    """Collect what a run waits for. A difference that cannot be read is marked."""
    run, build = history.run, history.run.state.build
    if build is None:
        return Decisions(run, run.questions[:MAX_SHOWN], doubts=run.doubts[:MAX_SHOWN])
    question = question_of(build)
    plan = None
    if question is not None and build.proposal is not None:
        plan = plan_version(build.proposal, history.lines)
    changes = [await _change(world, run.id, job) for job in consents_of(build)[:MAX_SHOWN]]
    return Decisions(run, (), plan, tuple(changes), failed=failed_work(build)[:MAX_SHOWN])


async def _change(world: World, run: str, job: AskConsent) -> ChangeQuestion:
    try:
        patch = await world.builds.diff(run, job.check.commit, job.checked.commit)
    except ArtificerError as error:
        return ChangeQuestion(job, problem=error.message)
    return ChangeQuestion(job, patch_lines(patch))


def answer_to(lines: Iterable[Line], subject: str) -> str:
    """Return who decided about a call, a plan, a change or a doubt, and how; nothing if nobody.

    ``subject`` is the digest of what was decided, or the id of the call in doubt.
    """
    intents, found = set[int](), ""
    for line in lines:
        if isinstance(line, IntentLine):
            if isinstance(line.intent, AskApproval) and line.intent.call == subject:
                intents.add(line.intent.n)
            continue
        match line.event:
            case ev.ApprovalAnswered(intent=n, approved=approved, by=by) if n in intents:
                found = _by("approved" if approved else "denied", by)
            case ev.DoubtResolved(call_id=call, happened=happened, by=by) if call == subject:
                found = _by("found to have happened" if happened else "found not to have", by)
            case ev.BuildAdvanced(fact=Decided(digest=digest, decision=word, by=by)):
                found = _by(_WORDS[word], by) if digest == subject else found
            case ev.BuildAdvanced(fact=ConsentGiven(digest=digest, granted=granted, by=by)):
                what = "agreed to" if granted else "rejected"
                found = _by(what, by) if digest == subject else found
    return found


_WORDS = {"approve": "approved", "reject": "rejected", "iterate": "sent back"}


def _by(word: str, by: str) -> str:
    return f"{word} by {by or 'someone'}"
