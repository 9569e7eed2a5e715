"""Explaining a build: the reasons for its status, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from artificer.builds.gist import gist
from artificer.builds.jobs import AskConsent, AskDecision
from artificer.builds.scheduler import failed_work, open_questions, question_of
from artificer.builds.state import BuildState, consents_of

_DIGEST_START = len("sha256:") + 12


def why_building(build: BuildState, *, held: bool) -> str:
    """Why a build is not over."""
    if held:
        return "A person paused it."
    if build.stalled:
        lines = [line for text in _last_words(build) for line in text.splitlines()]
        return " | ".join([f"It needs a person to continue: {build.stalled}.", *lines])
    if question_of(build) is not None:
        return "Its plan waits for a decision."
    if consents := consents_of(build):
        return " ".join(
            f"{job.step.path} needs a person's consent:"
            f" {'; '.join(concern.text for concern in job.checked.concerns)}."
            for job in consents
        )
    if build.standing is not None:
        return " ".join(
            f"{found.run} is {found.standing}: {found.reason}" for found in build.resting
        )
    specs = "spec is" if len(build.specs) == 1 else "specs are"
    done = f"{len(build.merged)} of {len(build.specs)} {specs} merged" if build.specs else ""
    return f"Work is in progress, or was interrupted; {done or 'there is no plan yet'}."


def _last_words(build: BuildState) -> Iterator[str]:
    """The gist of the last report of each step that nobody tries any more."""
    steps = [build.planning]
    for spec in build.specs:
        steps += [spec.specifying, *(a for p in spec.phases for a in (p.detailing, p.coding))]
    yield from (gist(s.reports[-1]) for s in steps if s.doing == "exhausted" and s.reports)


def option_for(
    question: AskDecision | AskConsent, questions: Sequence[AskDecision | AskConsent]
) -> str:
    """Return the option that names a question to ``artificer build approve``, if there are more."""
    if len(questions) == 1:
        return ""
    option = "--plan" if isinstance(question, AskDecision) else "--change"
    return f" {option} {question.digest[:_DIGEST_START]}"


def next_of_build(run: str, build: BuildState) -> Iterator[str]:
    """Commands that get a build on, or take over what it made."""
    if build.ended == "completed":
        yield f"artificer build promote {run}"
    elif build.ended is None:
        questions = open_questions(build)
        if question_of(build) is not None:
            yield f"artificer build plan {run}"
        if consents_of(build):
            yield f"artificer build review {run}"
        yield from (
            f"artificer build approve {run}{option_for(job, questions)}" for job in questions
        )
        for spec in failed_work(build):
            yield f"artificer build retry {run} {spec}".rstrip()
        yield f"artificer resume {run}"
        yield f"artificer cancel {run}"
    yield f"artificer show {run} --tree"
