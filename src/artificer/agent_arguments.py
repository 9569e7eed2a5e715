"""The keyword arguments of an agent's blocking methods: those of the methods that they wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from artificer.ports import Approver
    from artificer.runtime.watching.observe import Observer
    from artificer.wiring.conversation import EarlierMessages
    from artificer.world import World


class CommonArguments(TypedDict, total=False):
    """The world of a run, who approves its calls, and the dependencies of its functions."""

    world: World | None
    approver: Approver | None
    deps: Any


class AnswerArguments(CommonArguments, total=False):
    """The options of `Agent.approve` and `Agent.deny`."""

    reason: str
    by: str


class StreamArguments(CommonArguments, total=False):
    """The options of `Agent.stream`."""

    run_id: str | None
    history: EarlierMessages | None


class RunArguments(StreamArguments, total=False):
    """The options of `Agent.run`."""

    observer: Observer | None


class FollowUpArguments(CommonArguments, total=False):
    """The options of `Agent.follow_up`."""

    observer: Observer | None


class ResumeArguments(FollowUpArguments, total=False):
    """The options of `Agent.resume`."""

    take_over: bool


class ForkArguments(FollowUpArguments, total=False):
    """The options of `Agent.fork`."""

    new_id: str | None
