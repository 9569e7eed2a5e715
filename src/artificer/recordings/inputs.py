"""The outside inputs of a recorded run: what a re-run is given in place of the world."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from artificer.core import events as ev
from artificer.core.intents import AskApproval, CallTool
from artificer.core.record import EventLine, IntentLine
from artificer.core.sources import MARK
from artificer.ports import Answer, BlobStore, Receipt
from artificer.ports.attachment import attachment_of
from artificer.recordings.answers import answer_of
from artificer.runtime.load import Loaded
from artificer.values.model import ModelFailure, ModelReply

RUN = "rerun"
"""The id of a re-run."""


@dataclass
class RecordedInputs:
    """The outside inputs of a run, by the question they answer.

    ``durations`` are the milliseconds of each call, which count towards a limit, with those until
    the run that it started was idle. ``on_exhausted`` is called when the re-run needs an input that
    was not recorded.
    """

    replies: dict[str, deque[ModelReply | ModelFailure]]
    receipts: dict[str, Receipt]
    durations: dict[str, int]
    answers: dict[str, deque[Answer]]
    began: int
    on_exhausted: Callable[[], None] = field(default=lambda: None)

    async def exhausted(self) -> None:
        """Stop the re-run where the recording ends, and wait to be cancelled."""
        self.on_exhausted()
        await asyncio.get_running_loop().create_future()

    def now(self) -> int:
        """Return the recorded start, always: moments are not part of the comparison."""
        return self.began

    def duration_of(self, call: CallTool, _: float) -> int:
        """Return the recorded duration of a call."""
        return self.durations[call.call_id]

    def new_run_id(self) -> str:
        """Return the id of the re-run."""
        return RUN


def inputs_of(recorded: Loaded, blobs: BlobStore) -> RecordedInputs:
    """Collect the outside inputs of a recorded run."""
    first = recorded.lines[0]
    began = first.event.at if isinstance(first, EventLine) else 0
    inputs = _no_inputs(began)
    requests: dict[int, str] = {}
    intents: dict[int, CallTool | AskApproval] = {}
    for line in recorded.lines:
        if isinstance(line, IntentLine):
            if line.request:
                requests[line.intent.n] = line.request
            elif isinstance(line.intent, (CallTool, AskApproval)):
                intents[line.intent.n] = line.intent
            continue
        match line.event:
            case (
                ev.ModelResponded()
                | ev.ModelFailed()
                | ev.ContextCompacted()
                | ev.CompactionFailed() as event
            ):
                if event.intent in requests:
                    inputs.replies[requests[event.intent]].append(answer_of(event, blobs))
            case ev.CallWaiting() as event:
                inputs.durations[intents[event.intent].call_id] += event.duration_ms
            case ev.ToolReturned() as event:
                call_id = intents[event.intent].call_id
                inputs.durations[call_id] += event.duration_ms
                inputs.receipts[call_id] = _receipt(event, blobs)
            case ev.ApprovalAnswered() as event:
                question = intents[event.intent]
                assert isinstance(question, AskApproval)
                answer = Answer(event.approved, event.by, event.reason)
                inputs.answers[question.call].append(answer)
            case ev.RunForked():  # inputs before the fork are not needed again
                inputs = _no_inputs(began)
            case _:
                pass
    return inputs


def _no_inputs(began: int) -> RecordedInputs:
    return RecordedInputs(defaultdict(deque), {}, defaultdict(int), defaultdict(deque), began)


def _receipt(event: ev.ToolReturned, blobs: BlobStore) -> Receipt:
    content = event.content if event.whole is None else blobs.get(event.whole).decode()
    if event.data is not None and event.whole is None:
        content = content.rpartition(MARK)[0]  # the line is added again
    attachments = (
        attachment_of(blobs.get(block.digest), block.media_type, name=block.name)
        for block in event.attachments
    )
    return Receipt(
        status=event.status,
        content=content,
        evidence=event.evidence,
        artifact=event.artifact,
        withdrawn=event.withdrawn,
        usage=event.usage,
        cost_micros=event.cost_micros,
        taint=event.taint,
        handover=event.handover,
        attachments=tuple(attachments),
        data=None if event.data is None else blobs.get(event.data).decode(),
    )
