"""The shortest form: a run in this project's world, for programs without an event loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from artificer.agent import Agent

if TYPE_CHECKING:
    from artificer.agent_definition import AgentFields
    from artificer.ports import Approver, Prompt
    from artificer.runs import Run
    from artificer.runtime.observe import Observer
    from artificer.wiring.conversation import EarlierMessages


def run(
    prompt: Prompt,
    agent: Agent | None = None,
    *,
    approver: Approver | None = None,
    observer: Observer | None = None,
    run_id: str | None = None,
    history: EarlierMessages | None = None,
    deps: Any = None,
    **fields: Unpack[AgentFields],
) -> Run:
    """Run a prompt to its end and wait for it, as `Agent.run_sync` does.

    The fields of an :class:`Agent` can be passed directly; they override those of ``agent``.

    >>> run("Why is the sky blue?", model="local/smollm2").text

    Raises:
        AuthorError: an event loop is running already.
    """
    agent = replace(agent or Agent(), **fields)
    return agent.run_sync(
        prompt, approver=approver, observer=observer, run_id=run_id, history=history, deps=deps
    )


def resume(
    run_id: str,
    agent: Agent | None = None,
    *,
    approver: Approver | None = None,
    observer: Observer | None = None,
    take_over: bool = False,
    deps: Any = None,
    **fields: Unpack[AgentFields],
) -> Run:
    """Continue a run and wait for its end, as `Agent.resume_sync` does."""
    agent = replace(agent or Agent(), **fields)
    return agent.resume_sync(
        run_id, approver=approver, observer=observer, take_over=take_over, deps=deps
    )
