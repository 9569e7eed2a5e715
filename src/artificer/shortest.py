"""The shortest form: a run in this project's world, for programs without an event loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, overload

from artificer.agent import Agent
from artificer.config import load_config
from artificer.plugins import load
from artificer.system.blocking import wait_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from artificer.agent_definition import AgentFields, AgentFieldsWithoutOutput
    from artificer.config import Config
    from artificer.contracts.output import OutputT
    from artificer.ports import Approver, Prompt
    from artificer.runs import Run
    from artificer.runtime.watching.observe import Observer
    from artificer.wiring.conversation import EarlierMessages


@overload
def run(
    prompt: Prompt,
    agent: Agent | None = None,
    *,
    output: type[OutputT] | Callable[..., Awaitable[OutputT]] | Callable[..., OutputT],
    approver: Approver | None = None,
    observer: Observer | None = None,
    run_id: str | None = None,
    history: EarlierMessages | None = None,
    deps: Any = None,
    **fields: Unpack[AgentFieldsWithoutOutput],
) -> Run[OutputT]: ...
@overload
def run(
    prompt: Prompt,
    agent: Agent[OutputT] | None = None,
    *,
    approver: Approver | None = None,
    observer: Observer | None = None,
    run_id: str | None = None,
    history: EarlierMessages | None = None,
    deps: Any = None,
    **fields: Unpack[AgentFields],
) -> Run[OutputT]: ...
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


def rerun(recording: bytes, config: Config | None = None) -> list[str]:
    """Replay an exported run and run it again, without a model and tools; return what differs.

    >>> rerun(Path("tests/runs/tea.run.gz").read_bytes())
    []

    Raises:
        TamperedError: it is not an exported run.
        AuthorError: an event loop is running already.
    """
    test = load("artificer.wiring.recordings:rerun_recording")
    return wait_for(
        lambda: test(recording, config or load_config()),
        "await asyncio.to_thread(artificer.rerun, …)",
    )
