"""The outcome of a trial, by the ledgers outside the runtime alone."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass

from outside import SCRIPTS, Outside
from tally import Tally

UNSURE = re.compile("may have happened|ambiguous|unknown whether|cannot know|outcome is unknown")


@dataclass
class Counts(Tally):
    """The faults of trials; ``unsure`` is none: nobody could know, and that was said."""

    duplicate: int = 0
    lost: int = 0
    misreported: int = 0
    repaid: int = 0
    unrecoverable: int = 0
    unsure: int = 0

    @property
    def faults(self) -> int:
        """All that should be zero."""
        return sum(asdict(self).values()) - self.trials - self.unsure


def judge(outside: Outside, finished: bool, refused: bool = False) -> Counts:
    """Count a trial's faults.

    A run is ``refused`` when the trial destroyed what had been synced, and the runtime said so.

    - duplicate: charges for an order beyond the first;
    - lost: orders never charged, of which the model was not told so;
    - misreported: orders said to be charged that are not, or the other way round, or of which
      nothing was said although they are;
    - repaid: a reply asked for again although a call of it, or of a later one, had begun;
    - unrecoverable: the run does not come to its end.
    """
    effects = Counter(line["order"] for line in outside.read("effects"))
    counts = Counts(trials=1, duplicate=sum(effects.values()) - len(effects))
    counts.repaid = _repaid(outside)
    if refused:
        counts.unsure = 1
        return counts
    if not finished:
        counts.unrecoverable = 1
        return counts
    requests = outside.read("requests")
    told = dict(requests[-1]["told"])
    for order in (order for turn in SCRIPTS[outside.script] for order in turn):
        said, happened = told.get(order), effects[order] > 0
        if said is not None and UNSURE.search(said):
            counts.unsure += 1
        elif said is not None and said.startswith("charged"):
            counts.misreported += not happened
        elif happened:
            counts.misreported += 1  # said not to be, or not spoken of
        else:
            counts.lost += said is None
    return counts


def _repaid(outside: Outside) -> int:
    """Requests for a reply that had been acted on by then."""
    requests = outside.read("requests")
    acted: dict[int, int] = {}  # by how many requests a turn's reply had been acted on
    turn_of = {
        order: number for number, turn in enumerate(SCRIPTS[outside.script]) for order in turn
    }
    for line in outside.read("begun"):
        turn = turn_of[line["order"]]
        acted[turn] = min(acted.get(turn, line["requests"]), line["requests"])
    for number, request in enumerate(requests):
        for earlier in range(request["turn"]):
            acted[earlier] = min(acted.get(earlier, number), number)
    return sum(
        acted.get(request["turn"], len(requests) + 1) <= number
        for number, request in enumerate(requests)
    )
