"""Counting what the runs of this process do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from artificer.core import events as ev
from artificer.core.record import EventLine, IntentLine
from artificer.health.exposition import Metric, single
from artificer.runtime.watching.observe import Observer


class Tally(Observer):
    """Counts since it was made. Labels are words of ours, never those of a model or a tool."""

    def __init__(self) -> None:
        self._turns = 0
        self._tokens = Counter[str]()
        self._micros = 0
        self._fenced = 0
        self._calls = Counter[str]()
        self._failures = Counter[str]()
        self._ended = Counter[str]()

    def adopted(self, run: str, line: EventLine | IntentLine) -> None:
        """Pass over a record that another run had made."""

    def recorded(self, run: str, line: EventLine | IntentLine) -> None:
        """Count a record."""
        if isinstance(line, EventLine) and (count := _COUNTED.get(type(line.event))):
            count(self, line.event)

    def fenced(self, run: str) -> None:
        """Count a record that was refused."""
        self._fenced += 1

    def metrics(self) -> Iterator[Metric]:
        """Yield what was counted."""
        yield single("artificer_turns_total", "counter", "Replies of models.", self._turns)
        yield Metric(
            "artificer_tokens_total",
            *("counter", "Tokens of replies and summaries.", self._tokens, "direction"),
        )
        dollars = self._micros / 1_000_000
        yield single("artificer_cost_dollars_total", "counter", "The known cost.", dollars)
        yield Metric(
            "artificer_calls_total", "counter", "Tool calls that returned.", self._calls, "status"
        )
        yield Metric(
            "artificer_model_failures_total",
            *("counter", "Requests without a reply, after all attempts.", self._failures, "code"),
        )
        yield Metric(
            "artificer_runs_ended_total", "counter", "Runs that ended.", self._ended, "status"
        )
        text = "Records that were refused, because another process has the run."
        yield single("artificer_fenced_writes_total", "counter", text, self._fenced)

    def _replied(self, event: ev.ModelResponded) -> None:
        self._turns += 1
        self._used(event)

    def _used(self, event: ev.ModelResponded | ev.ContextCompacted | ev.CompactionFailed) -> None:
        self._tokens["input"] += event.usage.input_tokens
        self._tokens["output"] += event.usage.output_tokens
        self._micros += event.cost_micros or 0

    def _returned(self, event: ev.ToolReturned) -> None:
        self._calls[event.status] += 1

    def _failed(self, event: ev.ModelFailed) -> None:
        self._failures[event.code] += 1

    def _not_compacted(self, event: ev.CompactionFailed) -> None:
        self._used(event)
        if event.code != "not_asked":  # there was no request
            self._failures[event.code] += 1

    def _finished(self, event: ev.RunFinished) -> None:
        self._ended[event.status] += 1


_COUNTED: dict[type[ev.Event], Callable[[Tally, ev.Event], None]] = {
    ev.ModelResponded: Tally._replied,  # type: ignore[dict-item]
    ev.ToolReturned: Tally._returned,  # type: ignore[dict-item]
    ev.ModelFailed: Tally._failed,  # type: ignore[dict-item]
    ev.ContextCompacted: Tally._used,  # type: ignore[dict-item]
    ev.CompactionFailed: Tally._not_compacted,  # type: ignore[dict-item]
    ev.RunFinished: Tally._finished,  # type: ignore[dict-item]
}
