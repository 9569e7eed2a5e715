"""Runs as their callers see them. The code that renders one is imported when it is needed."""

from __future__ import annotations

import copyreg
import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from msgspec import Struct
from msgspec.structs import replace

from artificer.artifacts.deliverable import Deliverable
from artificer.artifacts.ref import ArtifactRef
from artificer.builds.summary import summary_of
from artificer.contracts.output import OutputT
from artificer.core.intents import FinishReason
from artificer.core.record import EventLine, IntentLine, Line
from artificer.core.rules import keeps_reports
from artificer.core.state import Doubt, RunState
from artificer.core.transitions import reduce
from artificer.errors import AuthorError, OperatorError
from artificer.ports import BlobStore, Question
from artificer.runtime.waiting import questions_of
from artificer.values.arguments import path as named
from artificer.values.base import Digest
from artificer.values.blocks import Message
from artificer.values.model import FailureCode, Usage
from artificer.values.parameters import named_parameters

if TYPE_CHECKING:
    from artificer.events import RunEvent
    from artificer.render.export.exported import ExportStep, Files
    from artificer.render.export.forms import ReportFormat
    from artificer.render.report import Report
    from artificer.report import Views
    from artificer.run_artifact import RunArtifact, RunArtifacts

T = TypeVar("T")

_UNREAD: Any = object()
"""There is no value of the run's output but the recorded JSON or text."""


@named_parameters()
class Run(Struct, Generic[OutputT], frozen=True):
    """A run in its current state: finished, stalled, or still executing somewhere else.

    ``state`` is the state that its records reduce to.
    """

    id: str
    state: RunState
    _blobs: BlobStore
    _lines: Callable[[], Iterable[Line]]
    _value: Any = _UNREAD
    _questions_below: tuple[Question, ...] = ()

    def __repr__(self) -> str:
        """Id and status: the state holds the whole conversation."""
        return f"<Run {self.id} {self.status}>"

    def _repr_html_(self) -> str:
        """The run as a card for notebooks: its status, and its report in a sandbox."""
        from artificer.render.card import run_card

        cost = None if self.cost is None else f"${self.cost:.4f}"
        page = None if self.deliverable is None else self.html
        return run_card(self.id, self.status, cost, self.usage, page or self.text, page is not None)

    @property
    def status(self) -> str:
        """The deliverable's status; before that ``open``, ``waiting``, ``paused`` or ``stalled``.

        A ``waiting`` run waits for the answers to its :attr:`questions`. A run that waits for a
        child has the child's status.
        """
        return self.state.standing

    @property
    def questions(self) -> tuple[Question, ...]:
        """The calls that wait for a person's approval. Send an `AnswerCall` with the digest.

        The questions of its children come after its own; ``question.run`` is the run that asks.
        """
        return (*questions_of(self.id, self.state), *self._questions_below)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """The calls that may or may not have happened: `Resolve` them."""
        return self.state.doubts

    @property
    def reason(self) -> FinishReason | None:
        """Why the run ended; None before the end."""
        return self.state.reason

    @property
    def failure(self) -> FailureCode | None:
        """Why the model could not be reached, if the run is stalled or failed for that reason."""
        return self.state.failure

    @property
    def deliverable(self) -> Deliverable | None:
        """The deliverable of the run, once it is finished."""
        return _deliverable(self.state, self._blobs)

    @property
    def text(self) -> str:
        """The narrative, or the model's last text so far; for a build, its summary."""
        return text_of(self.state, self._blobs)

    @property
    def message(self) -> str:
        """The model's last message to the reader, if it is not the narrative.

        A short answer to a follow-up leaves the report unchanged, and is shown with it.
        """
        delivered = self.deliverable
        return delivered.message if delivered else self.state.message

    @property
    def output(self) -> OutputT:
        """The value of the final reply, made by the agent's output type, function and check.

        A run that was read without its agent has the recorded JSON or text.

        >>> agent.run_sync("Two teas, please.").output
        Order(item='tea', count=2)

        Raises:
            OperatorError: there is none, because the run is not completed.
        """
        if self._value is not _UNREAD:
            value: OutputT = self._value
            return value
        text: Any = _accepted(self)
        return json.loads(text) if self.state.run_spec.response_format else text  # type: ignore[no-any-return]

    def output_as(self, kind: type[T]) -> T:
        """Return the recorded JSON as a value of a type: for a run read without its agent.

        >>> (await world.get(run_id)).output_as(Order)
        Order(item='tea', count=2)

        Raises:
            OperatorError: there is none, because the run is not completed or ended in a text.
            AuthorError: the JSON is not valid for this type.
        """
        from pydantic import TypeAdapter, ValidationError

        if self.state.run_spec.response_format is None:
            raise OperatorError(
                f"Run {self.id} ended in a text, not in JSON.",
                hint="Read `text`, or start the run with an output type: Agent(output=…).",
            )
        try:
            return TypeAdapter(kind).validate_json(_accepted(self))
        except ValidationError as error:
            raise AuthorError(
                f"The output of run {self.id} is not a valid {kind.__name__}: {error}.",
                hint="Read it as the type that the run was started with.",
            ) from error

    @property
    def usage(self) -> Usage:
        """Tokens of all turns."""
        return self.state.usage

    @property
    def cost(self) -> Decimal | None:
        """The cost in dollars of all requests whose model has a known price; None without one."""
        micros = self.state.cost_micros
        return None if micros is None else Decimal(micros) / 1_000_000

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation: prompts, replies with their calls, and the results of these."""
        return tuple(self.state.history)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were used, as ``provider/model``; the last one is current.

        Why each of the others was replaced is in ``state.failed_models``.
        """
        failed = [model.model for model in self.state.failed_models]
        return (*failed, self.state.run_spec.full_name)

    @property
    def artifacts(self) -> RunArtifacts:
        """The artifacts of the report, or those made so far, by id.

        >>> run.artifacts["revenue"].rows
        ({'Quarter': 'Q1', 'Revenue': 1200}, {'Quarter': 'Q2', 'Revenue': 1350})
        """
        from artificer.run_artifact import RunArtifacts, load_artifact

        delivered = self.deliverable
        refs = self.state.artifacts if delivered is None else delivered.artifacts
        return RunArtifacts(tuple(load_artifact(ref, self.state, self._blobs) for ref in refs))

    @property
    def events(self) -> list[RunEvent]:
        """The recorded events (`artificer.events`); pieces of streamed text are not recorded.

        Raises TamperedError, or NotFoundError if the run has been pruned.
        """
        from artificer.runtime.watching.translator import Translator

        translator = Translator(self.id)
        return [event for line in self._lines() for event in translator.record(line)]

    @property
    def children(self) -> tuple[str, ...]:
        """The ids of the runs that its calls to agents started, in order.

        `world.archive.children` reads them, with their own children. Raises what `events` does.
        """
        from artificer.runtime.family import called

        return tuple(called(self.id, self._lines()))

    @property
    def html(self) -> str:
        """The deliverable as one self-contained page. Raises OperatorError before the end."""
        from artificer.render.html import to_html

        return to_html(_report(self))

    @property
    def draft_html(self) -> str:
        """The report so far, as a page: the run may still be executing."""
        from artificer.render.html import to_html
        from artificer.report import make_report

        if self.state.deliverable is not None:
            return self.html
        draft = Deliverable(status="partial", narrative=self.text, artifacts=self.state.artifacts)
        return to_html(make_report(self.id, self.state, draft, self._blobs, forming=True))

    @property
    def markdown(self) -> str:
        """The deliverable as Markdown. Raises OperatorError before the end."""
        from artificer.render.markdown import to_markdown

        return to_markdown(_report(self))

    @overload
    def save(self, path: str | Path, *, made: str = "") -> Views: ...

    @overload
    def save(self, path: str | Path | None = None, *, format: ReportFormat) -> Path: ...

    def save(
        self,
        path: str | Path | None = None,
        *,
        format: ReportFormat | None = None,
        made: str = "",
    ) -> Views | Path:
        """Write the files of a ``zip`` into a folder, or the report in a format into one file.

        ``made`` is a page in the folder that the report links to. With a format the result is the
        path of the file; its default is the id of the run.
        Raises OperatorError before the end, or if the format lacks what the hint names.
        """
        from artificer.report import write_files, write_views

        if format is None and not path:
            raise AuthorError("`save` needs a folder.", hint="Or a format: save(format='pdf').")
        place = Path(named("path", path or f"{self.id}.{format}"))
        if format is None:
            return write_views(place, self.id, self.state, _finished(self), self._blobs, made)
        return write_files(place.parent, self.export(format, name=place.name))[0]

    def export(
        self,
        format: ReportFormat,
        *,
        name: str = "report",
        step: ExportStep | None = None,
    ) -> Files:
        """Return the report in a format, as the bytes of each file by its path.

        The first is the report. Only Markdown has more: its pictures lie next to it.
        Raises OperatorError before the end, or if the format lacks what the hint names.
        """
        from artificer.render.export.exported import quiet
        from artificer.render.export.forms import report_files
        from artificer.report import make_exported

        exported = make_exported(self.id, self.state, _finished(self), self._blobs)
        return report_files(exported, format, name, step or quiet)


def _not_pickled(run: Run[Any]) -> str:
    raise AuthorError(
        f"Run {run.id} cannot be pickled or copied: it reads its records from its world.",
        hint="Pass run.id, and read the run there: await world.get(run_id).",
    )


copyreg.pickle(Run, _not_pickled)


def _report(run: Run[Any]) -> Report:
    from artificer.report import make_report

    return make_report(run.id, run.state, _finished(run), run._blobs)


def _accepted(run: Run[Any]) -> str:
    narrative = run.state.narrative
    if run.status != "completed" or narrative is None:
        delivered = run.deliverable
        failed = f": the model could not be reached ({run.failure})." if run.failure else "."
        why = f": {delivered.note}" if delivered and delivered.note else failed
        raise OperatorError(
            f"Run {run.id} is {run.status} and has no output{why}",
            hint=f"`artificer explain {run.id}` says what happened.",
        )
    return narrative


def _finished(run: Run[Any]) -> Deliverable:
    deliverable = run.deliverable
    if deliverable is None:
        raise OperatorError(
            f"Run {run.id} is {run.status}: it has not delivered anything yet.",
            hint=f"artificer resume {run.id}",
        )
    return deliverable


def text_of(state: RunState, blobs: BlobStore) -> str:
    """Return the narrative of a run, or the model's last text so far; of a build, its summary."""
    if state.build is not None:
        return summary_of(state.build)
    delivered = _deliverable(state, blobs) if keeps_reports(state.run_spec) else None
    if delivered is not None:
        return delivered.narrative
    return state.narrative or state.last_text


def _deliverable(state: RunState, blobs: BlobStore) -> Deliverable | None:
    if state.deliverable is None:
        return None
    return Deliverable.read(blobs.get(state.deliverable))


class History(Struct, frozen=True):
    """A run with all its records."""

    run: Run[Any]
    lines: tuple[EventLine | IntentLine, ...]

    def at(self, seq: int) -> Run[Any]:
        """Return the run in its state after a record."""
        if seq >= len(self.lines):
            return self.run
        state, lines = RunState(), self.lines[:seq]
        for line in lines:
            if isinstance(line, EventLine):
                state, _ = reduce(state, line.event)
        return replace(self.run, state=state, _lines=lambda: lines, _questions_below=())

    def artifact(self, ref: ArtifactRef, seq: int) -> RunArtifact:
        """Read an artifact as it was after a record, even if it has been replaced since.

        Raises NotFoundError, TamperedError.
        """
        from artificer.run_artifact import load_artifact

        return load_artifact(ref, self.at(seq).state, self.run._blobs)

    def data(self, digest: Digest) -> bytes:
        """Return the bytes of a digest that a record names. Raises NotFoundError, TamperedError."""
        return self.run._blobs.get(digest)
