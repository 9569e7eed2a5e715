"""Runs as their callers hold them. What renders one is imported when something is rendered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from artificer.artifacts.deliverable import Deliverable
from artificer.builds.summary import summary_of
from artificer.core.intents import FinishReason
from artificer.core.record import EventLine, IntentLine
from artificer.core.rules import keeps_reports
from artificer.core.state import Doubt, RunState
from artificer.errors import AuthorError, OperatorError
from artificer.ports import BlobStore, Question
from artificer.values.base import JsonValue
from artificer.values.model import FailureCode, Usage

if TYPE_CHECKING:
    from artificer.render.report import Report
    from artificer.report import Views

T = TypeVar("T")


class Run(Struct, frozen=True):
    """A run as it stands: finished, stalled, or still under way somewhere else."""

    id: str
    state: RunState
    _blobs: BlobStore

    def __repr__(self) -> str:
        """Id and status: the state holds the whole conversation."""
        return f"<Run {self.id} {self.status}>"

    @property
    def status(self) -> str:
        """Of the deliverable; before there is one ``open``, ``waiting``, ``paused``, ``stalled``.

        A ``waiting`` run waits for the answers to its :attr:`questions`.
        """
        return self.state.standing

    @property
    def questions(self) -> tuple[Question, ...]:
        """The calls that wait for a person's approval: `AnswerCall` their digest."""
        questions = {
            pending.call_id for pending in self.state.pending if pending.type == "AskApproval"
        }
        verdicts = [call.verdict for call in self.state.calls if call.id in questions]
        return tuple(
            Question(self.id, v.tool, v.arguments or "", v.reason, v.digest or "")
            for v in verdicts
            if v is not None
        )

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
        """Why the model could not be asked, if the run is stalled or failed for that."""
        return self.state.failure

    @property
    def deliverable(self) -> Deliverable | None:
        """The deliverable of the run, once it is finished."""
        if self.state.deliverable is None:
            return None
        return Deliverable.read(self._blobs.get(self.state.deliverable))

    @property
    def text(self) -> str:
        """The narrative, or the model's last text so far; of a build, how it stands."""
        if self.state.build is not None:
            return summary_of(self.state.build)
        delivered = self.deliverable if keeps_reports(self.state.run_spec) else None
        if delivered is not None:
            return delivered.narrative
        return self.state.narrative or self.state.last_text

    @property
    def message(self) -> str:
        """The model's last words to the reader, where these are not the narrative.

        A short answer to a follow-up leaves the report as it is, and is shown with it.
        """
        delivered = self.deliverable
        return delivered.message if delivered else self.state.message

    @property
    def output(self) -> JsonValue:
        """The final reply of a run with a ``response_format``, as JSON that fits it.

        Raises:
            OperatorError: there is none: no format was asked for, or the run is not completed.
        """
        value: JsonValue = json.loads(self._json())
        return value

    def output_as(self, kind: type[T]) -> T:
        """The same as a value of a type: a pydantic model, a dataclass, a TypedDict.

        Raises:
            OperatorError: there is none.
            AuthorError: the type demands more than its JSON Schema says.
        """
        from pydantic import TypeAdapter, ValidationError

        try:
            return TypeAdapter(kind).validate_json(self._json())
        except ValidationError as error:
            raise AuthorError(
                f"The run's output is not a valid {kind.__name__}: {error}."
            ) from error

    def _json(self) -> str:
        if self.state.run_spec.response_format is None:
            raise OperatorError(
                f"Run {self.id} has no output: it has no response format.",
                hint="Start the run with a response_format; this run's reply is `text`.",
            )
        narrative = self.state.narrative
        if self.status != "completed" or narrative is None:
            delivered = self.deliverable
            why = f": {delivered.note}" if delivered and delivered.note else "."
            raise OperatorError(f"Run {self.id} is {self.status} and has no output{why}")
        return narrative

    @property
    def usage(self) -> Usage:
        """Tokens of all turns."""
        return self.state.usage

    @property
    def html(self) -> str:
        """The deliverable as one self-contained page. Raises OperatorError before the end."""
        from artificer.render.html import to_html

        return to_html(self._report())

    @property
    def markdown(self) -> str:
        """The deliverable as Markdown. Raises OperatorError before the end."""
        from artificer.render.markdown import to_markdown

        return to_markdown(self._report())

    def save(self, folder: str | Path) -> Views:
        """Write page, Markdown and artifacts into a folder. Raises OperatorError before the end."""
        from artificer.report import write_views

        return write_views(Path(folder), self.id, self.state, self._finished(), self._blobs)

    def _report(self) -> Report:
        from artificer.report import make_report

        return make_report(self.id, self.state, self._finished(), self._blobs)

    def _finished(self) -> Deliverable:
        deliverable = self.deliverable
        if deliverable is None:
            raise OperatorError(
                f"Run {self.id} is {self.status}: it has delivered nothing yet.",
                hint=f"artificer resume {self.id}",
            )
        return deliverable


class History(Struct, frozen=True):
    """A run with all its records."""

    run: Run
    lines: tuple[EventLine | IntentLine, ...]
