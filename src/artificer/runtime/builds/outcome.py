"""The fact for a build that follows from one of its finished runs."""

from __future__ import annotations

from artificer.artifacts.build_catalog import BuildArtifact, read, tool_of
from artificer.artifacts.completion import Completion
from artificer.artifacts.judgement import Judgement
from artificer.artifacts.phase import Phase
from artificer.artifacts.plan import Plan
from artificer.artifacts.ref import BuildArtifactKind
from artificer.artifacts.spec import Spec
from artificer.builds.facts import RunReturned
from artificer.builds.jobs import CancelRun, Check, StartRun
from artificer.builds.table import STEP_RULES
from artificer.core.state import RunPhase, RunState
from artificer.errors import InvariantError
from artificer.ports import BlobStore
from artificer.values.base import Digest


def job_run_id(build: str, job: StartRun | Check | CancelRun) -> str:
    """The id of the run that a job is about: the same every time, so that none is begun twice.

    That of a Check is the judge's run.
    """
    kind = "judge" if isinstance(job, Check) else job.step.kind
    return f"{build}.{kind}-{short(job.key)}"


def short(key: Digest) -> str:
    """Return a job's key as the id of its run has it."""
    return key.removeprefix("sha256:")[:16]


def artifact_of(state: RunState, kind: BuildArtifactKind, blobs: BlobStore) -> BuildArtifact | None:
    """The artifact of this kind that a run made; of several, the last."""
    made = [ref for ref in state.artifacts if ref.kind == kind]
    return read(kind, blobs.get(made[-1].payload)) if made else None


def returned(job: StartRun, state: RunState, blobs: BlobStore) -> RunReturned:
    """Return the outcome of a run. An artifact that the gate accepted counts in every case.

    Raises InvariantError for a run that has not finished: one that is stalled or waiting has no
    outcome yet.
    """
    if state.phase is not RunPhase.FINISHED:
        raise InvariantError(f"The run of {job.step.path} has not finished.")
    if state.reason == "cancelled":
        return RunReturned(key=job.key, outcome="cancelled", detail="The run was cancelled.")
    kind = STEP_RULES[job.step.kind].delivers
    artifact = artifact_of(state, kind, blobs)
    if isinstance(artifact, (Plan, Spec, Phase, Completion)):
        return RunReturned(key=job.key, outcome="made", artifact=artifact)
    detail = f"The run stopped ({state.reason}) without calling {tool_of(kind)}, which it owed."
    return RunReturned(key=job.key, outcome="failed", detail=detail)


def judgement_of(state: RunState, blobs: BlobStore) -> Judgement | None:
    """The judgement that a judge's run came to, or None."""
    made = artifact_of(state, "judgement", blobs)
    return made if isinstance(made, Judgement) else None
