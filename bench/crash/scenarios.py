"""The scenarios: what befalls a run, each as trials of one or more processes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from judge import Counts
from outside import Plan
from stage import Stage

SERIES, AT_ONCE, ONE, CHILD = "one after the other", "at once", "one", "in a child run"
DAY = 86_400


@dataclass(frozen=True)
class Scenario:
    """A way to fail. ``disk`` says that it needs the failing disk, ``children`` runtimes whose runs
    start runs, ``probe`` those that ask a tool what has happened.
    """

    name: str
    what: str
    play: Callable[[Stage, int], Counts]
    disk: bool = False
    children: bool = False
    probe: bool = False


def _all(stage: Stage, trials: Iterator[tuple[str, list[Plan]]]) -> Counts:
    counts = Counts()
    for script, plans in trials:
        counts.add(stage.play(script, plans))
    return counts


def _points(stage: Stage, script: str, most: int) -> list[int]:
    """At most so many of a script's changes, evenly spread or drawn with the seed of the stage."""
    changes = stage.changes(script)
    if changes <= most:
        return list(range(1, changes + 1))
    if stage.seed is not None:
        drawn = random.Random(f"{stage.seed} {script}")
        return sorted(drawn.sample(range(1, changes + 1), most))
    return sorted({1 + round(n * (changes - 1) / max(1, most - 1)) for n in range(most)})


def _at_writes(mode: str) -> Callable[[Stage, int], Counts]:
    def play(stage: Stage, most: int) -> Counts:
        points = _points(stage, SERIES, most)
        return _all(stage, ((SERIES, [Plan(disk=(mode, n))]) for n in points))

    return play


def _effect_unrecorded(stage: Stage, most: int) -> Counts:
    return _all(stage, ((SERIES, [Plan(at=("charge", o, "after"))]) for o in "AB"))


def _reply_not_acted_on(stage: Stage, most: int) -> Counts:
    return _all(stage, ((SERIES, [Plan(at=("charge", o, "before"))]) for o in "AB"))


def _twice(stage: Stage, most: int) -> Counts:
    first = Plan(at=("charge", "A", "after"))
    seconds = [Plan(at=("charge", o, w)) for o in "AB" for w in ("before", "after")]
    seconds += [Plan(disk=("kill", n)) for n in (1, 4, 9) if stage.disk]
    return _all(stage, ((SERIES, [first, second]) for second in seconds[:most]))


def _parallel(stage: Stage, most: int) -> Counts:
    points = [("B", "before"), ("B", "after"), ("C", "after")]
    return _all(stage, ((AT_ONCE, [Plan(at=("charge", *p))]) for p in points))


def _approval(stage: Stage, most: int) -> Counts:
    yes = Plan(approve=True)
    killed = [Plan(at=("charge", "A", w), approve=True) for w in ("before", "after")]
    return _all(stage, ((ONE, [Plan(), second]) for second in [yes, *killed]))


def _torn(stage: Stage, most: int) -> Counts:
    counts = Counts()
    for turn in ("1", "2"):
        counts.add(stage.play(SERIES, [Plan(at=("model", turn, "before"))], torn=True))
    if stage.disk:
        counts.add(_at_writes("tear")(stage, most // 2))
    return counts


def _clock(stage: Stage, most: int) -> Counts:
    clocks = [(w, days * DAY) for w in ("start", "effect") for days in (-4000, -1, 1, 4000)]
    point = ("model", "2", "before")
    return _all(stage, ((SERIES, [Plan(at=point, clock=clock)]) for clock in clocks))


def _stale(stage: Stage, most: int) -> Counts:
    points = [("charge", "A", "before"), ("charge", "A", "after"), ("charge", "B", "before")]
    points += [("model", "0", "before"), ("model", "1", "before")]
    return _all(stage, ((SERIES, [Plan(at=p, freeze=True)]) for p in points))


def _beside(plans: Sequence[Plan], others: int, probe: bool) -> Callable[[Stage, int], Counts]:
    def play(stage: Stage, most: int) -> Counts:
        counts = Counts()
        for plan in plans:
            counts.add(stage.play_beside(SERIES, plan, others, probe))
        return counts

    return play


def _owned() -> Iterator[Scenario]:
    """Who owns a run: its owner lives, stands still, left a program, or has several heirs."""
    points = [("charge", "A", "before"), ("charge", "A", "after"), ("charge", "B", "before")]
    kinds: list[tuple[str, str, list[Plan], int]] = [
        ("late orphan", "killed; what its tool started acts later", [Plan(orphan=True)], 1),
        ("live resume", "resumed while it is driven elsewhere", [Plan(hold=True)], 1),
        (
            "frozen owner",
            "resumed while its process stands still, which then goes on",
            [Plan(at=point, freeze=True) for point in points],
            1,
        ),
        ("contenders", "killed, then resumed by four at once", [Plan(at=p) for p in points], 4),
    ]
    for name, what, plans, others in kinds:
        for probe in (False, True):
            words = f"{name}, with a probe" if probe else name
            yield Scenario(words, what, _beside(plans, others, probe), probe=probe)


def _child(stage: Stage, most: int) -> Counts:
    stage.warm_up(CHILD)
    plans = [Plan(at=("model", str(turn), "before")) for turn in range(3)]
    if stage.disk:
        plans += [Plan(disk=("kill", n)) for n in _points(stage, CHILD, most)]
    return _all(stage, ((CHILD, [plan]) for plan in plans))


SCENARIOS = (
    Scenario(
        "effect unrecorded",
        "killed after the effect, before its result could be recorded",
        _effect_unrecorded,
    ),
    Scenario(
        "reply not acted on",
        "killed when the model's reply was there and its call about to act",
        _reply_not_acted_on,
    ),
    Scenario("kill at every write", "killed at each change of a file", _at_writes("kill"), True),
    Scenario("killed twice", "killed again while it recovers", _twice),
    Scenario("parallel calls", "killed when of three calls one was done", _parallel),
    Scenario("approval pending", "killed while it waits for a person, and after", _approval),
    Scenario(
        "child run pending", "killed while a run that it started goes on", _child, children=True
    ),
    Scenario("torn record", "a write cut in half; the last bytes of a log cut off", _torn),
    Scenario("disk full", "from some write on the disk is full", _at_writes("full"), True),
    Scenario("clock jump", "the clock jumps a day or years, back or forth", _clock, True),
    Scenario("stale owner", "a frozen process wakes up when another has finished", _stale),
    *_owned(),
)
