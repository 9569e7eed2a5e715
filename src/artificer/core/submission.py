"""A submission: who should execute a run for workers, and when."""

from __future__ import annotations

from typing import Annotated

from artificer.values.base import CheckedValue, Meta

FIRST, USUAL, LAST = 1, 3, 5
"""The priorities: the first, the one of runs that name none, and the last."""

DispatchName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{0,64}\Z")]
"""The name of a tenant or a lane; empty for none."""


class Submission(CheckedValue):
    """Workers execute the run, whichever process submitted it.

    ``agent`` is the name under which a worker knows the run's agent, as ``module:name``; empty for
    a run that needs no functions of a program. ``priority`` goes from 1, the first, to 5. Runs of
    the same priority take turns by ``tenant``. A ``lane`` is a group of runs with its own limit.
    ``traceparent`` is the span that submitted it (W3C Trace Context), if there was one.
    """

    agent: Annotated[str, Meta(pattern=r"^([\w.]{1,200}:\w{1,100})?\Z")] = ""
    priority: Annotated[int, Meta(ge=FIRST, le=LAST)] = USUAL
    tenant: DispatchName = ""
    lane: DispatchName = ""
    traceparent: Annotated[
        str, Meta(pattern=r"^([0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})?\Z")
    ] = ""
