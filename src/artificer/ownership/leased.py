"""Ownership of runs that processes on several machines share: a lock here, and a lease for others.

A lease is a promise: until it ends by the clock of the storage, nobody takes a run from its owner.
After that its runs may be taken, but nobody knows whether it has died or only stands still, so what
it had started is in doubt. Only a process on its own host, in the same folder, can find it dead.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from artificer.errors import ArtificerError, Fenced, OperatorError
from artificer.ownership.descendants import descendants
from artificer.ownership.fifo import is_held
from artificer.ownership.host import this_host
from artificer.ownership.local import GONE, FormerOwner, Hold
from artificer.ownership.process import (
    FOLDER,
    FORKED,
    SERVERS,
    ProcessOwner,
    about_us,
    name_of,
    the_one,
)
from artificer.ports import LEASE_SECONDS, LeasedOwner, OwnerHost, OwnerLease, OwnerLeases

log = logging.getLogger("artificer.ownership")

PATIENCE_S = 30.0
"""How long a storage may be away before an effect that waits for the lease fails."""

_PAUSE_S = 0.5

_BEATS = 4
"""How often a lease is renewed in its time."""

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""It continues while the machine sleeps."""


class ProcessWithLease(ProcessOwner):
    """This process as the owner of runs of a world that other machines share. See `leased_owner`.

    A thread renews its lease, also while the event loop is busy. When it cannot, no effect starts.
    """

    def __init__(
        self,
        folder: Path,
        leases: OwnerLeases,
        seconds: float = LEASE_SECONDS,
        host: OwnerHost | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        super().__init__(folder)
        self._leases = leases
        self._seconds = seconds
        self._patience_s = patience_s
        self._host = host or this_host()
        self._ends = 0.0
        self._lost: Fenced | None = None
        self._renewing = threading.Lock()
        self._closing = threading.Event()
        self._beating: threading.Thread | None = None

    # --- its own lease ------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin the lease, or make sure of it.

        Raises:
            OperatorError: it cannot be renewed, so no run may be owned.
        """
        if not self._is_leased:
            self.renew()
        with self._renewing:
            if self._beating is None:
                self._closing = threading.Event()
                beat = partial(self._beat, self._closing)
                self._beating = threading.Thread(target=beat, name="artificer lease", daemon=True)
                self._beating.start()

    async def ready(self) -> None:
        """Begin the lease, or make sure of it; in a thread only if there is something to do."""
        if not (self._is_leased and self._beating):
            await asyncio.to_thread(self.begin)

    async def stay(self) -> int:
        """Make sure of the lease; return how often it has ended before it was renewed.

        A storage that is away is waited for, ``patience_s``.
        """
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._patience_s
        while not self._is_leased:
            try:
                await asyncio.to_thread(self.renew)
            except Fenced:
                raise
            except OperatorError:
                if loop.time() > give_up:
                    raise
                await asyncio.sleep(_PAUSE_S)
        return self.lapses

    @property
    def _is_leased(self) -> bool:
        return self._lost is None and time.clock_gettime(_CLOCK) < self._ends

    def renew(self) -> None:
        """Renew the lease. Blocks.

        Raises:
            Fenced: this process was found dead.
            OperatorError: it cannot be renewed.
        """
        with self._renewing:
            if self._lost is not None:
                raise self._lost
            before = time.clock_gettime(_CLOCK)
            us = LeasedOwner(self.id, self._host, name_of(about_us()))
            try:
                went_on = self._leases.renew(us, self._seconds)
            except Fenced as error:
                self._lost = error
                raise
            self.lapses += self._ends > 0 and not went_on
            self._ends = before + self._seconds

    def _beat(self, closing: threading.Event) -> None:
        while not closing.is_set():
            try:
                self.renew()
                self.confirm_dead()
            except ArtificerError as error:
                log.warning("%s", error.message)
                if self._lost is not None:
                    return
            closing.wait(self._seconds / _BEATS)

    # --- other owners -------------------------------------------------------------------------

    def look(self, former: str | None, run: str, hold: Hold) -> FormerOwner:
        """Return the state of a run's former owner, before ``hold``."""
        lease = None if former in (None, "", self.id) else self._leases.find(str(former))
        if lease is None:
            return super().look(former, run, hold)
        if lease.dead:
            return GONE
        found = self.find(lease.owner.id) if self._is_here(lease) else None
        if found is not None and found.liveness != "unknown":
            return found
        if lease.seconds_left > 0:
            why = f": its lease ends at {lease.until}, unless it is renewed"
            return FormerOwner("alive", lease.owner.who, why)
        return FormerOwner("unknown", f"{lease.owner.who}, whose lease ended at {lease.until}")

    def confirm_dead(self) -> list[str]:
        """Write down which owners of this host and folder are dead, with all that they had started.

        Their runs can then be continued on any host as if here. Return them. Blocks.
        """
        found = [
            lease.owner.id
            for lease in self._leases.on(self._host.machine)
            if lease.seconds_left < 0 and self._is_here(lease) and self._is_over(lease.owner.id)
        ]
        for owner in found:
            self._leases.end(owner, dead=True)
            with suppress(OSError):
                self.calls_of(owner).rmdir()
        return found

    def gone_here(self) -> list[str]:
        """Return the owners of this host and folder whose process is gone. Blocks."""
        leases = [lease for lease in self._leases.on(self._host.machine) if self._is_here(lease)]
        owners = [lease.owner.id for lease in leases if lease.owner.id != self.id]
        return [owner for owner in owners if self.find(owner).liveness == "gone"]

    def _is_here(self, lease: OwnerLease) -> bool:
        """Whether an owner's host is this one. Then its file is here, if its folder is this one."""
        host = lease.owner.host
        return lease.owner.id.isalnum() and (
            host.machine == self._host.machine or host.boot == self._host.boot != ""
        )

    def _is_over(self, owner: str) -> bool:
        """Whether an owner is dead, and everything that it had started."""
        if self.find(owner).liveness != "gone":
            return False
        locks = [self.project / FOLDER / f"{owner}{kind}" for kind in (SERVERS, FORKED)]
        with suppress(FileNotFoundError):
            locks += self.calls_of(owner).iterdir()
        return not any(map(is_held, locks)) and not descendants(owner.__eq__)

    # --- the end ------------------------------------------------------------------------------

    def finish(self, *, named: bool) -> None:
        """End the lease, unless a run may still name it: then it ends by itself. Blocks."""
        self._closing.set()
        if self._beating is not None:
            self._beating.join()
        try:
            if not named and self._ends:
                self._leases.end(self.id, dead=False)
        except ArtificerError as error:  # it ends by itself
            log.warning("%s", error.message)
        finally:
            self._leases.close()
            super().finish(named=named)

    def forget(self) -> None:
        """Release everything."""
        self._closing.set()
        self._beating, self._ends, self._lost = None, 0.0, None
        super().forget()


def leased_owner(project: Path, leases: OwnerLeases, seconds: float) -> ProcessWithLease:
    """Return this process as the owner of the runs of a world that other machines share."""
    return the_one(project, leases.world, lambda folder: ProcessWithLease(folder, leases, seconds))
