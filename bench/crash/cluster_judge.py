"""The outcome of a trial: by the ledgers outside, the database, and what runs say of themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field

from cluster_orders import BOOKINGS, CHARGES, lines
from cluster_stage import ClusterStage
from tally import Tally

from artificer import World
from artificer.values.blocks import Message, ToolResultBlock, ToolUseBlock

LEDGERS = {"charge": CHARGES, "book": BOOKINGS}
"""Each tool, and the ledger of what it really did."""


@dataclass
class Verdict(Tally):
    """The faults of trials; ``unsure`` is none: nobody could know, and that was said.

    - duplicate: effects beyond the first;
    - lost: records that were there and are gone, effects without a record of their call, and
      problems that `verify` finds;
    - misreported: results that say otherwise than the ledgers;
    - unfinished: runs that are not over.
    """

    runs: int = 0
    duplicate: int = 0
    lost: int = 0
    misreported: int = 0
    unfinished: int = 0
    unsure: int = 0
    why: list[str] = field(default_factory=list)

    @property
    def faults(self) -> int:
        """All that should be zero."""
        return self.duplicate + self.lost + self.misreported + self.unfinished

    def to_json(self) -> dict[str, object]:
        """Return the counts."""
        return asdict(self) | {"faults": self.faults}

    def count(self, what: str, number: int, why: str) -> None:
        """Count faults of a kind."""
        setattr(self, what, getattr(self, what) + number)
        self.why += [f"{what}: {why}"] * bool(number)


async def judge(stage: ClusterStage, world: World, over: Iterable[str]) -> Verdict:
    """Count a trial's faults, when nothing more happens. ``over`` are the runs that are."""
    verdict = Verdict(trials=1, runs=len(stage.submitted))
    finished = set(over)
    for order in stage.submitted:
        verdict.count("unfinished", order not in finished, order)
    did = {tool: Counter(_orders(stage, ledger)) for tool, ledger in LEDGERS.items()}
    for tool, orders in did.items():
        for order, times in orders.items():
            verdict.count("duplicate", times - 1, f"{tool} of {order}, {times} times")
    for order in stage.submitted:
        messages = (await world.get(order)).messages
        for tool, orders in did.items():
            _judge_call(verdict, f"{tool} of {order}", _result(messages, tool), orders[order])
    now = stage.records()
    gone = [record for record, hash in stage.seen.items() if now.get(record) != hash]
    verdict.count("lost", len(gone), f"records {gone[:3]}")
    problems = (await world.archive.verify()).problems
    verdict.count("lost", len(problems), "; ".join(problems[:3]))
    return verdict


def _judge_call(verdict: Verdict, what: str, result: str | None, times: int) -> None:
    """Compare what a run says of a call with what happened."""
    if result == "ambiguous":
        verdict.unsure += 1
    elif result is None:
        verdict.count("lost", times > 0, f"{what} has no result, and happened")
    else:
        right = times > 0 if result == "ok" else times == 0
        verdict.count("misreported", not right, f"{what} is {result}, and happened {times} times")


def _orders(stage: ClusterStage, ledger: str) -> Iterator[str]:
    for line in lines(stage.outside, ledger):
        yield line["order"]


def _result(messages: Iterable[Message], tool: str) -> str | None:
    """How the call of a tool ended; None where there is none that has."""
    blocks = [block for message in messages for block in message.blocks]
    ids = {block.id for block in blocks if isinstance(block, ToolUseBlock) and block.name == tool}
    found = [
        block.status
        for block in blocks
        if isinstance(block, ToolResultBlock) and block.tool_use_id in ids
    ]
    return found[-1] if found else None
