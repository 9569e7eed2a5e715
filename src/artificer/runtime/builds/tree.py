"""The runs of a build as a tree: the purpose and outcome of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from artificer.builds.facts import Checked, RunReturned
from artificer.builds.gist import gist
from artificer.builds.jobs import Check, StartRun
from artificer.builds.summary import came_to
from artificer.core.events import BuildAdvanced
from artificer.core.intents import AdvanceBuild
from artificer.core.record import IntentLine, Line
from artificer.core.state import RunState
from artificer.ports import Storage
from artificer.runtime.builds.outcome import job_run_id
from artificer.runtime.listing.runs import recorded_runs
from artificer.runtime.snapshot import state_of
from artificer.values.base import Digest
from artificer.values.model import Usage


class BuildNode(Struct, frozen=True):
    """One run of a build. ``step`` is what it worked at, such as ``code/store/load``.

    ``purpose`` is a review pass or ``judge``. ``status`` is how the run stands, ``came_to`` its
    outcome as the build recorded it, ``checked`` the result of validation, if there was one,
    ``passed`` whether that was good, ``detail`` the gist of the report.
    """

    run: str
    step: str
    purpose: str
    attempt: int
    status: str = "open"
    came_to: str = ""
    checked: str = ""
    passed: bool | None = None
    detail: str = ""
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_micros: int | None = None

    @property
    def name(self) -> str:
        """The name of the run in a list."""
        return self.step

    @property
    def depth(self) -> int:
        """How deep it stands below the build: the plan 1, a spec 1, a phase 2, its code 3."""
        return {"plan": 1, "spec": 1, "phase": 2, "code": 3}[self.step.partition("/")[0]]


async def build_tree(storage: Storage, run: str, lines: Sequence[Line]) -> list[BuildNode]:
    """Return the runs that a build started, as its records and theirs show them."""
    runs = await recorded_runs(storage.journal)
    below = [name for name in runs if name.startswith(f"{run}.")]
    return nodes(run, lines, {name: await state_of(storage, name) for name in below})


def nodes(build: str, lines: Iterable[Line], states: Mapping[str, RunState]) -> list[BuildNode]:
    """The runs of a build by its records: the plan's first, then spec by spec, as they began.

    ``states`` are those of its runs, by id; one that is missing never began.
    """
    found: dict[Digest, BuildNode] = {}
    of_run: dict[Digest, Check] = {}
    for line in lines:
        if isinstance(line, IntentLine):
            if isinstance(line.intent, AdvanceBuild):
                _begun(build, line.intent, found, of_run)
        elif isinstance(line.event, BuildAdvanced):
            _add_fact(line.event, found, of_run)
    known = [_with_state(node, states[node.run]) for node in found.values() if node.run in states]
    return list(_in_order(known))


def _begun(
    build: str, intent: AdvanceBuild, found: dict[Digest, BuildNode], of_run: dict[Digest, Check]
) -> None:
    match intent.wish:
        case StartRun() as run:
            node = BuildNode(job_run_id(build, run), run.step.path, run.review, run.attempt)
            found[run.key] = node
        case Check() as check:
            of_run[check.key] = check
            if check.for_judge:
                node = BuildNode(job_run_id(build, check), check.step.path, "judge", check.attempt)
                found[check.key] = node


def _add_fact(
    event: BuildAdvanced, found: dict[Digest, BuildNode], of_run: dict[Digest, Check]
) -> None:
    match event.fact:
        case RunReturned(key=key, outcome=outcome, detail=detail) if key in found:
            found[key] = replace(found[key], came_to=outcome, detail=detail)
        case Checked(key=key, passed=passed, report=report) as checked:
            if key in found:
                found[key] = replace(found[key], came_to="accepted" if passed else "rejected")
            check = of_run.get(key)
            if check is not None and check.run in found:
                opinion = "" if check.for_judge and passed else gist(report)
                word = "passed" if passed else "failed"
                came = word if check.for_judge else came_to(check, checked)
                concerns = "; ".join(concern.text for concern in checked.concerns)
                found[check.run] = replace(
                    found[check.run], checked=came, passed=passed, detail=concerns or opinion
                )
        case _:
            pass


def _with_state(node: BuildNode, state: RunState) -> BuildNode:
    return replace(
        node,
        status=state.standing,
        turns=state.turn,
        usage=state.usage,
        cost_micros=state.cost_micros,
    )


def _in_order(found: Sequence[BuildNode]) -> Iterator[BuildNode]:
    """The plan, then each spec with everything below it; within it, as it began."""
    specs = dict.fromkeys(node.step.split("/")[1] for node in found if "/" in node.step)
    yield from (node for node in found if node.step == "plan")
    for spec in specs:
        yield from (node for node in found if node.step.split("/")[1:2] == [spec])
