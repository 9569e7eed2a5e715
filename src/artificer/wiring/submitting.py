"""Submitting a run: its beginning is recorded here, and workers execute it."""

from __future__ import annotations

from typing import Any

from artificer.agent_definition import AgentDefinition
from artificer.core.submission import Submission
from artificer.ports import Prompt
from artificer.telemetry.enable import submission_span
from artificer.wiring.assemble import assemble
from artificer.wiring.conversation import EarlierMessages
from artificer.wiring.engines import Attendance
from artificer.wiring.instructions import prepared
from artificer.wiring.resources import WorldResources


async def submit(
    world: WorldResources,
    prompt: Prompt,
    agent: AgentDefinition[Any],
    submission: Submission,
    run_id: str | None,
    history: EarlierMessages | None,
) -> str:
    """Record the beginning of a run and return its id. Raises what `assemble` does, and:

    ExistsError: there is a run of that id.
    """
    run_id = world.new_run_id(run_id)
    agent, deps = await prepared(agent, run_id, None)
    async with assemble(world, agent, prompt, Attendance(deps=deps), history) as made:
        with submission_span(run_id, enabled=world.config.telemetry.enabled) as traceparent:
            await made.submit(run_id, submission.replace(traceparent=traceparent))
    return run_id
