"""The versions of a report and of its artifacts: what each answers, when it came about, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from artificer.artifacts.deliverable import Deliverable
from artificer.artifacts.ref import ArtifactRef
from artificer.core import events as ev
from artificer.core.intents import Generate
from artificer.core.record import EventLine, Line
from artificer.errors import ArtificerError, NotFoundError
from artificer.run_artifact import RunArtifact
from artificer.runs import History
from artificer.values.base import Digest
from artificer.values.text import clip

MAX_CAUSE = 300
"""Characters of a cause that are shown."""


class VersionCause(NamedTuple):
    """A message to the model that a version answers: its sender, and its record."""

    what: str
    text: str
    by: str
    seq: int


class ArtifactVersion(NamedTuple):
    """One version of an artifact, or its withdrawal, which has no ``ref``.

    It holds from record ``seq`` to record ``last``. ``model`` wrote the call: for what came with a
    handoff, the call that handed the conversation over.
    """

    number: int
    seq: int
    last: int
    turn: int
    at: int
    model: str
    cause: VersionCause
    ref: ArtifactRef | None


class ReportVersion(NamedTuple):
    """One version of a report. ``status`` is empty for one that was not delivered like this."""

    number: int
    seq: int
    turn: int
    at: int
    model: str
    cause: VersionCause
    narrative: str
    artifacts: tuple[ArtifactRef, ...]
    status: str


ArtifactKey = tuple[str, str]


@dataclass
class RunVersions:
    """All versions of a run's report and artifacts, oldest first."""

    reports: list[ReportVersion] = field(default_factory=list)
    artifacts: dict[ArtifactKey, list[ArtifactVersion]] = field(default_factory=dict)

    def of(self, name: str) -> list[ArtifactVersion]:
        """Return the versions of the artifact ``kind:id``; none if there is none."""
        kind, _, artifact = name.partition(":")
        return self.artifacts.get((kind, artifact), [])


ReadDigest = Callable[[Digest], bytes]


def versions(lines: Sequence[Line], read: ReadDigest) -> RunVersions:
    """Collect the versions from the records of a run. ``read`` returns the bytes of a digest."""
    fold = _Fold(read)
    for line in lines:
        fold.add(line)
    found = RunVersions(fold.reports)
    for key, made in fold.artifacts.items():
        ends = [later.seq - 1 for later in made[1:]]
        found.artifacts[key] = [
            version._replace(last=last)
            for version, last in zip(made, [*ends, len(lines)], strict=True)
        ]
    return found


def newest_version(kept: Sequence[ArtifactVersion]) -> ArtifactVersion:
    """Return the newest version that is not a withdrawal. An artifact has at least one."""
    return next(version for version in reversed(kept) if version.ref)


def chosen_version(kept: Sequence[ArtifactVersion], text: str) -> ArtifactVersion:
    """Return the version of a number, or the newest for no text. Raises NotFoundError."""
    if not text:
        return newest_version(kept)
    found = next((version for version in kept if str(version.number) == text), None)
    if found is None:
        raise NotFoundError(f"There is no such version; there are {len(kept)}.")
    return found


def read_version(history: History, version: ArtifactVersion) -> RunArtifact:
    """Read a version as it stood when it was replaced: a checklist with the ticks until then.

    Raises NotFoundError, TamperedError.
    """
    if version.ref is None:
        raise NotFoundError("This version withdrew the artifact: there is nothing to show.")
    return history.artifact(version.ref, version.last)


def version_of(history: History, name: str, text: str) -> RunArtifact:
    """Return a version of the artifact ``kind:id`` by its number. Raises NotFoundError."""
    kept = versions(history.lines, history.data).of(name)
    if not kept:
        raise NotFoundError("The run has made no such artifact.")
    return read_version(history, chosen_version(kept, text))


class _Fold:
    def __init__(self, read: ReadDigest) -> None:
        self.reports: list[ReportVersion] = []
        self.artifacts: dict[ArtifactKey, list[ArtifactVersion]] = {}
        self._read = read
        self._current: dict[ArtifactKey, ArtifactRef] = {}
        self._cause = VersionCause("", "", "", 0)
        self._queue: list[VersionCause] = []
        self._over = False
        self._turn, self._model = 0, ""

    def add(self, line: Line) -> None:
        if not isinstance(line, EventLine):
            if isinstance(line.intent, Generate):
                self._turn = line.intent.turn
            return
        match line.event:
            case ev.ModelResponded(model=model):
                self._model = model
            case ev.ToolReturned() as returned:
                self._returned(line.seq, returned)
            case ev.ReplyChecked() as checked:
                self._checked(line.seq, checked)
            case ev.RunFinished() as finished:
                self._finished(line.seq, finished)
            case event:
                self._note_message(line.seq, event)

    def _note_message(self, seq: int, event: ev.Event) -> None:
        """Remember what the model answers next."""
        match event:
            case ev.PromptReceived(spec=spec):
                self._cause = VersionCause("the prompt", clip(spec.prompt, MAX_CAUSE), "", seq)
            case ev.Steered(text=text, by=by):
                self._cause = VersionCause("a message", clip(text, MAX_CAUSE), by, seq)
            case ev.RunForked(steer=steer):
                self._over = False
                if steer:
                    self._cause = VersionCause("a fork", clip(steer, MAX_CAUSE), "", seq)
            case ev.FollowUpReceived(text=text, by=by):
                self._queue.append(VersionCause("a follow-up", clip(text, MAX_CAUSE), by, seq))
                self._next()
            case _:
                pass

    def _next(self) -> None:
        """Continue with the first follow-up that waits, once what came before it has ended."""
        if self._over and self._queue:
            self._cause, self._over = self._queue.pop(0), False

    def _returned(self, seq: int, event: ev.ToolReturned) -> None:
        if event.artifact is not None:
            self._made(seq, event.at, event.artifact)
        elif event.handover is not None:
            for ref in event.handover.artifacts:
                self._made(seq, event.at, ref)
        elif event.withdrawn is not None:
            key = (event.withdrawn.kind, event.withdrawn.id)
            if self._current.pop(key, None) is not None:
                self._artifact(key, seq, event.at, None)

    def _made(self, seq: int, at: int, ref: ArtifactRef) -> None:
        key = (ref.kind, ref.id)
        self._current[key] = ref
        self._artifact(key, seq, at, ref)

    def _artifact(self, key: ArtifactKey, seq: int, at: int, ref: ArtifactRef | None) -> None:
        made = self.artifacts.setdefault(key, [])
        made.append(
            ArtifactVersion(len(made) + 1, seq, seq, self._turn, at, self._model, self._cause, ref)
        )

    def _checked(self, seq: int, event: ev.ReplyChecked) -> None:
        known = self.reports[-1].narrative if self.reports else ""
        if event.narrative and event.narrative != known:
            self._report(seq, event.at, event.narrative, tuple(self._current.values()), "")
        if event.request is not None:
            request = clip(event.request, MAX_CAUSE)
            self._cause = VersionCause("a reply that was sent back", request, "", seq)

    def _finished(self, seq: int, event: ev.RunFinished) -> None:
        self._delivered(seq, event)
        self._over = True
        self._next()

    def _delivered(self, seq: int, event: ev.RunFinished) -> None:
        last = self.reports[-1] if self.reports else None
        try:
            delivered = Deliverable.read(self._read(event.deliverable))
        except ArtificerError:  # it is gone or damaged: the other versions can be shown
            if last is not None and not last.status:
                self.reports[-1] = last._replace(status=event.status)
            return
        same_text = last is not None and last.narrative == delivered.narrative
        if last is not None and same_text and not last.status:
            self.reports[-1] = last._replace(
                seq=seq, artifacts=delivered.artifacts, status=event.status
            )
        elif last is None or not same_text or last.artifacts != delivered.artifacts:
            self._report(seq, event.at, delivered.narrative, delivered.artifacts, event.status)

    def _report(
        self, seq: int, at: int, narrative: str, artifacts: tuple[ArtifactRef, ...], status: str
    ) -> None:
        number = len(self.reports) + 1
        self.reports.append(
            ReportVersion(
                number, seq, self._turn, at, self._model, self._cause, narrative, artifacts, status
            )
        )
