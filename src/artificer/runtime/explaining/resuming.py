"""The command that continues a run, for the person who reads its status."""

from __future__ import annotations

from artificer.core.spec import RunSpec
from artificer.providers.caller import NAME as CALLER


def resume_command(run: str, spec: RunSpec) -> str:
    """Return the command that continues a run; "" for a guarded run, which its program continues.

    Functions are not recorded: the agent that brings them has to be named.
    """
    if spec.provider == CALLER:
        return ""
    if all(tool.backend != "function" for tool in spec.tools().tools):
        return f"artificer resume {run}"
    agent = spec.submission.agent if spec.submission and not spec.parent else ""  # of the caller
    return f"artificer resume {run} --agent {agent or 'MODULE:NAME'}"
