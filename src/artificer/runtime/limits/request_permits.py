"""The permits of requests to models: a request waits until its provider and its model have one."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from artificer.core.spec import RunSpec
from artificer.ports import LimitReached, SharedLimit
from artificer.values.model import ModelFailure, RetryDelta

if TYPE_CHECKING:
    from artificer.runtime.limits.permits import PermitKeeper

WAIT_S = 300.0
"""How long a request waits for a permit before its run is left to be resumed."""

OnRetry = Callable[[RetryDelta], None]


class RequestPermits(Struct, frozen=True):
    """The permits of requests, with the limits of each provider and ``provider/model``.

    ``own`` are those of this process alone, where it has others; they are taken first.
    """

    keeper: PermitKeeper | None = None
    limits: Mapping[str, tuple[SharedLimit, ...]] = {}
    patience_s: float = WAIT_S
    own: RequestPermits | None = None

    def permit(
        self, spec: RunSpec, left_s: float, on_retry: OnRetry
    ) -> AbstractAsyncContextManager[float | ModelFailure]:
        """Hold a permit for a request to a run's present model; yield the seconds it waited for it.

        It waits within ``left_s``, the run's time. Where that is too short it yields a failure.
        """
        if self.own is not None:
            return self._both(self.own, spec, left_s, on_retry)
        limits = (*self.limits.get(spec.provider, ()), *self.limits.get(spec.full_name, ()))
        if self.keeper is None or not limits:
            return nullcontext(0.0)
        return _held(self.keeper, limits, max(0.0, min(left_s, self.patience_s)), on_retry)

    @asynccontextmanager
    async def _both(
        self, own: RequestPermits, spec: RunSpec, left_s: float, on_retry: OnRetry
    ) -> AsyncIterator[float | ModelFailure]:
        async with own.permit(spec, left_s, on_retry) as waited:
            if isinstance(waited, ModelFailure):
                yield waited
                return
            others = replace(self, own=None)
            async with others.permit(spec, left_s - waited, on_retry) as longer:
                yield longer if isinstance(longer, ModelFailure) else waited + longer


@asynccontextmanager
async def _held(
    keeper: PermitKeeper, limits: Sequence[SharedLimit], patience_s: float, on_retry: OnRetry
) -> AsyncIterator[float | ModelFailure]:
    began, until = time.monotonic(), round((time.time() + patience_s) * 1000)

    def waits(reached: LimitReached) -> None:
        on_retry(
            RetryDelta(code="rate_limited", until=until, attempt=1, attempts=1, limit=reached.name)
        )

    permit = await keeper.wait(limits, patience_s, waits)
    if isinstance(permit, LimitReached):
        yield _refusal(permit, patience_s)
        return
    try:
        yield time.monotonic() - began
    finally:
        keeper.give_back(permit)


NO_REQUEST_PERMITS = RequestPermits()


def _refusal(reached: LimitReached, patience_s: float) -> ModelFailure:
    why = f"Nothing was sent: the limit {reached.name} of this world left no room"
    return ModelFailure(
        code="rate_limited", message=f"{why} within {patience_s:.0f} s.", attempts=0
    )
