"""The leases of owners in memory, with a clock that is moved by hand."""

from __future__ import annotations

from msgspec import structs

from artificer.errors import Fenced, OperatorError
from artificer.ports import LeasedOwner, OwnerLease


class ManualLeases:
    """Leases that end when ``now`` has gone on. ``away``: nothing can be reached."""

    def __init__(self) -> None:
        self.now = 0.0
        self.away = False
        self.closed = 0
        self._leases: dict[str, OwnerLease] = {}

    @property
    def world(self) -> str:
        return "manual"

    def renew(self, owner: LeasedOwner, seconds: float) -> bool:
        self._reach()
        before = self.find(owner.id)
        if before is not None and before.dead:
            raise Fenced("found dead")
        end = self.now + seconds
        self._leases[owner.id] = OwnerLease(owner, end, f"{end:g}")
        return before is not None and before.seconds_left > 0

    def find(self, owner: str) -> OwnerLease | None:
        self._reach()
        lease = self._leases.get(owner)
        return lease and structs.replace(lease, seconds_left=lease.seconds_left - self.now)

    def on(self, machine: str) -> list[OwnerLease]:
        self._reach()
        found = [self.find(owner) for owner in self._leases]
        return [one for one in found if one and not one.dead and one.owner.host.machine == machine]

    def end(self, owner: str, *, dead: bool) -> None:
        self._reach()
        lease = self._leases.pop(owner)
        if dead:
            self._leases[owner] = structs.replace(lease, dead=True)

    def close(self) -> None:
        self.closed += 1

    def _reach(self) -> None:
        if self.away:
            raise OperatorError("The leases cannot be reached.")
