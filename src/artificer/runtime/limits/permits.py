"""The permits that this process holds: taken, waited for, renewed and given back."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from artificer.errors import ArtificerError
from artificer.ports import LimitReached, Permit, Permits, SharedLimit

log = logging.getLogger("artificer.permits")

LEASE_S = 10.0
"""How long the permits of a process count that has died."""

POLL_S = 0.5
"""Seconds between two looks for a permit that another process may have given back."""


def pause_s(reached: LimitReached) -> float:
    """Return when to look again, in seconds: not at the same moment as all the others."""
    return max(reached.seconds, POLL_S * random.uniform(0.7, 1.3))


OnWait = Callable[[LimitReached], None]


class PermitKeeper:
    """Takes permits for what this process does, and renews them as long as it continues.

    Where the storage cannot be reached there are none; those that are held continue.
    """

    def __init__(self, permits: Permits, lease_s: float = LEASE_S) -> None:
        self._permits = permits
        self._lease_s = lease_s
        self._held: dict[str, Permit] = {}
        self._lines: dict[tuple[str, ...], asyncio.Lock] = {}
        self._returned = asyncio.Event()
        self._renewing: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.waiting = Counter[str]()
        """How many wait here for a permit, by the limit that is reached."""

    @property
    def held(self) -> Counter[str]:
        """How many permits this process holds, by limit."""
        return Counter(name for permit in self._held.values() for name in permit.limits)

    async def take(self, limits: Sequence[SharedLimit]) -> Permit | LimitReached:
        """Take a permit, or return which limit is reached. Give back what is taken."""
        names = tuple(limit.name for limit in limits if limit.period_s is None)
        permit = Permit(secrets.token_hex(8), names)
        if not limits:
            return permit
        taking = asyncio.ensure_future(self._take(permit, limits))
        try:
            reached = await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(lambda _: self.give_back(permit))
            raise
        return permit if reached is None else reached

    async def wait(
        self, limits: Sequence[SharedLimit], patience_s: float, on_wait: OnWait
    ) -> Permit | LimitReached:
        """Take a permit as soon as there is one; or return which limit is reached for too long.

        There has to be a limit. Those who wait for the same ones here take turns. ``on_wait`` is
        called once, where there is no permit at once.
        """
        loop = asyncio.get_running_loop()
        deadline, first = loop.time() + patience_s, LimitReached(limits[0].name)
        line = self._lines.setdefault(tuple(limit.name for limit in limits), asyncio.Lock())
        on_wait = _Once(on_wait)
        timer = loop.call_later(POLL_S, on_wait, first)
        try:
            with self._waiting(first.name, line.locked()):
                async with asyncio.timeout_at(deadline):
                    await line.acquire()
        except TimeoutError:
            return first
        finally:
            timer.cancel()
        try:
            return await self._first(limits, deadline, on_wait)
        finally:
            line.release()

    def give_back(self, permit: Permit) -> asyncio.Task[None]:
        """End a permit, in a task that nobody has to wait for."""
        self._held.pop(permit.id, None)
        task = asyncio.ensure_future(self._give_back(permit))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def aclose(self) -> None:
        """End all permits of this process. It may be called more than once."""
        if self._renewing is not None:
            self._renewing.cancel()
        for permit in list(self._held.values()):
            self.give_back(permit)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _first(
        self, limits: Sequence[SharedLimit], deadline: float, on_wait: OnWait
    ) -> Permit | LimitReached:
        """Wait as the first one in the line."""
        loop = asyncio.get_running_loop()
        while True:
            self._returned.clear()
            found = await self.take(limits)
            if isinstance(found, Permit):
                return found
            on_wait(found)
            left = deadline - loop.time()
            if found.seconds > left or left <= 0:
                return found
            with self._waiting(found.name), suppress(TimeoutError):
                async with asyncio.timeout(min(left, pause_s(found))):
                    await self._returned.wait()

    async def _take(self, permit: Permit, limits: Sequence[SharedLimit]) -> LimitReached | None:
        try:
            reached = await self._permits.take(permit.id, limits, self._lease_s)
        except ArtificerError as error:
            log.warning("there is no permit of %s: %s", limits[0].name, error.message)
            return LimitReached(limits[0].name)
        if reached is None and permit.limits:
            self._held[permit.id] = permit
            if self._renewing is None or self._renewing.done():
                self._renewing = asyncio.create_task(self._renew(), name="permits")
        return reached

    async def _give_back(self, permit: Permit) -> None:
        if not permit.limits:
            return
        try:
            await self._permits.give_back([permit])
        except ArtificerError as error:  # its lease ends
            log.warning("a permit was not given back: %s", error.message)
        self._returned.set()

    async def _renew(self) -> None:
        while self._held:
            await asyncio.sleep(self._lease_s / 3)
            held = list(self._held.values())
            if not held:
                return
            try:
                await self._permits.renew(held, self._lease_s)
            except ArtificerError as error:
                log.warning("permits were not renewed: %s", error.message)
            for permit in held:
                if permit.id not in self._held:  # it was given back meanwhile
                    self.give_back(permit)

    @contextmanager
    def _waiting(self, name: str, counts: bool = True) -> Iterator[None]:
        self.waiting[name] += counts
        try:
            yield
        finally:
            self.waiting[name] -= counts


class _Once:
    """Calls a function once, however often it is called."""

    def __init__(self, function: OnWait) -> None:
        self._left = [function]

    def __call__(self, reached: LimitReached) -> None:
        if self._left:
            self._left.pop()(reached)
