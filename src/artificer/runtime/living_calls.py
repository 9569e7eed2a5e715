"""The calls of this program whose work continues after their end, because nothing can stop it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

from msgspec import Struct

from artificer.core.intents import CallTool
from artificer.ports import Call, Outliving

_PAUSE_S = 0.02


MAX_ENDED = 100
"""The most calls that have ended and whose late results no run has recorded."""


class _Living(Struct, frozen=True, eq=False):
    """One call. ``world`` is an object of the world that its run belongs to: an id of a run means
    nothing in another world.
    """

    world: object
    intent: CallTool
    call: Call
    work: Outliving


class LivingCalls:
    """Knows which calls continue, and keeps others away from the resources that they use."""

    def __init__(self) -> None:
        self._calls: list[_Living] = []
        self._lock = threading.Lock()

    def add(self, world: object, intent: CallTool, call: Call, work: Outliving) -> None:
        """Note a call whose work continues."""
        with self._lock:
            alive = self._alive()
            ended = [one for one in self._calls if one not in alive][-MAX_ENDED:]
            self._calls = [*ended, *alive, _Living(world, intent, call, work)]

    def of(self, world: object, run: str) -> list[tuple[CallTool, Outliving]]:
        """Return the calls of a run, also those that have ended since."""
        found = [one for one in self._calls if one.world is world and one.call.run == run]
        return [(one.intent, one.work) for one in found]

    def forget(self, world: object, run: str, intent: CallTool) -> None:
        """Forget an ended call, whose late result is recorded."""
        with self._lock:
            self._calls = [
                one
                for one in self._calls
                if (one.world is not world or one.call.run != run or one.intent != intent)
            ]

    def held(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the reason for each of these calls, by idempotency key, that continues here."""
        living = {one.call.key for one in self._alive()}
        return {key: "It goes on in a thread of this program." for key in keys if key in living}

    async def out_of_the_way(self, call: Call) -> str:
        """Wait, as long as a call may take, until nothing continues that it must not overlap.

        Return "" then, or the reason why the call must not start.
        """
        if not self._calls:
            return ""
        resources = set(call.definition.resources_of(call.arguments))
        loop = asyncio.get_running_loop()
        deadline = loop.time() + call.definition.timeout_ms / 1000
        while (found := self._in_the_way(call, resources)) is not None:
            if loop.time() >= deadline:
                shared = resources & _resources(found)
                return (
                    f"It did not start: an earlier call of {found.definition.name} still goes on, "
                    f"cannot be stopped, and uses {', '.join(sorted(shared))}."
                )
            await asyncio.sleep(_PAUSE_S)
        return ""

    def _in_the_way(self, call: Call, resources: set[str]) -> Call | None:
        for one in self._alive():
            both_pure = one.call.definition.effect == call.definition.effect == "pure"
            if not both_pure and resources & _resources(one.call):
                return one.call
        return None

    def _alive(self) -> list[_Living]:
        return [one for one in self._calls if one.work.alive]


def _resources(call: Call) -> set[str]:
    return set(call.definition.resources_of(call.arguments))


LIVING_CALLS = LivingCalls()
"""Those of this program: a thread belongs to no world and to no event loop."""
