"""Explaining a build: why it stands where it does, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from artificer.loops.build import BuildState
from artificer.loops.scheduler import question_of


def why_building(build: BuildState, *, held: bool) -> str:
    """Why a build is not over."""
    if held:
        return "Somebody paused it."
    if build.stalled:
        return f"Only a person can get it on: {build.stalled}."
    if question_of(build) is not None:
        return "Its plan waits for a decision."
    if build.rests is not None:
        return " ".join(
            f"{rested.run} is {rested.standing}: {rested.reason}" for rested in build.resting
        )
    done = f"{len(build.merged)} of {len(build.specs)} specs are merged" if build.specs else ""
    return f"Work is under way, or was interrupted; {done or 'there is no plan yet'}."


def next_of_build(run: str, build: BuildState) -> Iterator[str]:
    """Commands that get a build on, or take over what it made."""
    if build.ended == "completed":
        yield f"artificer build promote {run}"
    elif build.ended is None:
        if question_of(build) is not None:
            yield f"artificer build plan {run}"
            yield f"artificer build approve {run}"
        for spec in build.specs:
            if spec.status == "failed":
                yield f"artificer build retry {run} {spec.name}"
        yield f"artificer resume {run}"
        yield f"artificer cancel {run}"
    yield f"artificer show {run} --tree"
