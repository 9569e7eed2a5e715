"""Changing several files of a folder: all of them or none, and never twice.

A call's changes are written down first, next to the run's evidence, under the call's own
place. A call that is performed again after a crash finds it there: files that are as they were are
changed, files that are changed already are left, and anything else is someone else's work, which
is not touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from artificer.backends.answer import ToolRefusal
from artificer.backends.call_folders import call_folder, path_of_call
from artificer.backends.host.folder import Content, Folder
from artificer.errors import InvalidValueError
from artificer.ports import BlobStore, Call
from artificer.values.base import Digest, Value
from artificer.values.canon import digest_of

_NAME = "changes.json"


@dataclass(frozen=True)
class HostChange:
    """One file: as it is, and as it is to be; None if there is none."""

    path: str
    before: Content | None
    after: Content | None


class ChangeStep(Value):
    """One file, by the digests of its contents before and after."""

    path: str
    before: Digest | None = None
    after: Digest | None = None
    mode: int = 0o644


class ChangePlan(Value):
    """The changes that a call is about to make, and its answer when they are made."""

    key: str
    steps: tuple[ChangeStep, ...]
    answer: str


class Changer:
    """Makes the changes of calls in a folder."""

    def __init__(self, folder: Folder, blobs: BlobStore, evidence: Path | None) -> None:
        self._folder = folder
        self._blobs = blobs
        self._evidence = evidence

    def begun(self, call: Call) -> ChangePlan | None:
        """Return the plan that this call had started before a crash, if there is one."""
        try:
            plan = ChangePlan.read((self._place(call) / _NAME).read_bytes())
        except (FileNotFoundError, NotADirectoryError, InvalidValueError):
            return None  # it was never written whole: nothing has been changed
        return plan if plan.key == call.key else None

    def make(self, call: Call, changes: Sequence[HostChange], answer: str) -> ChangePlan:
        """Write the plan down, and carry it out. What fails halfway is taken back.

        Raises Refusal: a file has changed meanwhile, or cannot be written; ``ambiguous`` if what
        was done cannot be taken back either.
        """
        steps = tuple(self._step(change) for change in changes)
        plan = ChangePlan(key=call.key, steps=steps, answer=answer)
        with _writing_down():
            _write_down(call_folder(self._root(), call.run, call.id), plan)
        done: list[HostChange] = []
        try:
            for change in changes:
                self._require_unchanged(change.path, change.before)
                self._set(change.path, change.after)
                done.append(change)
        except ToolRefusal as refusal:
            self._take_back(done, refusal)
            (self._place(call) / _NAME).unlink()
            raise
        return plan

    def _take_back(self, done: Sequence[HostChange], refusal: ToolRefusal) -> None:
        left: list[str] = []
        for change in reversed(done):
            try:
                self._set(change.path, change.before)
            except ToolRefusal:
                left.append(change.path)
        if left:
            raise ToolRefusal(
                f"{refusal.detail} What had been done before could not be taken back in "
                f"{', '.join(sorted(left))}: look at the files.",
                "ambiguous",
            ) from refusal

    def finish(self, plan: ChangePlan) -> None:
        """Carry out what is left of a plan. Raises Refusal where someone else has been."""
        states = {step.path: self._digest(step.path) for step in plan.steps}
        strange = [s.path for s in plan.steps if states[s.path] not in (s.before, s.after)]
        if strange:
            raise ToolRefusal(
                "This call had begun when the runtime stopped, and since then somebody else has "
                f"changed {', '.join(strange)}. Nothing more was done: look at the files.",
                "ambiguous",
            )
        for step in plan.steps:
            if states[step.path] != step.after:
                after = step.after
                self._set(step.path, Content(self._blobs.get(after), step.mode) if after else None)

    def _step(self, change: HostChange) -> ChangeStep:
        after = change.after
        return ChangeStep(
            path=change.path,
            before=_digest_of(change.before),
            after=self._blobs.put(after.data) if after else None,
            mode=after.mode if after else 0,
        )

    def _set(self, path: str, content: Content | None) -> None:
        parts = self._folder.parts(path)
        if content is not None:
            self._folder.replace(parts, content.data, content.mode)
        elif self._folder.kind(parts) is not None:
            self._folder.remove(parts)

    def _require_unchanged(self, path: str, before: Content | None) -> None:
        if self._digest(path) != _digest_of(before):
            raise ToolRefusal(f"{path!r} was changed by somebody else just now. Read it again.")

    def _digest(self, path: str) -> str | None:
        return _digest_of(self._folder.find(self._folder.parts(path)))

    def _place(self, call: Call) -> Path:
        return path_of_call(self._root(), call.run, call.id)

    def _root(self) -> Path:
        if self._evidence is None:
            self._evidence = Path(mkdtemp(prefix="artificer-host-"))
        return self._evidence


@contextmanager
def _writing_down() -> Iterator[None]:
    """Refuse a call whose changes cannot be written down, as on a full disk."""
    try:
        yield
    except OSError as error:
        raise ToolRefusal(
            f"Nothing was changed: the changes cannot be written down first: {error.strerror}."
        ) from error


def _digest_of(content: Content | None) -> str | None:
    return digest_of(content.data) if content else None


def _write_down(place: Path, plan: ChangePlan) -> None:
    fresh = place / f"{_NAME}.new"
    with fresh.open("wb") as file:
        file.write(plan.canonical())
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(place / _NAME)
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
