"""A run of a build owes one artifact: whoever answers without it is asked for that call alone."""

from __future__ import annotations

from typing import Any

import pytest

from artificer.artifacts.build_catalog import RequiredArtifact, tool_for, tool_of
from artificer.artifacts.ref import BuildArtifactKind
from artificer.backends.artifact.executor import ArtifactExecutor
from artificer.contracts.definition import toolset
from artificer.core.kinds import RunKind
from artificer.core.spec import RunSpec
from artificer.core.state import RunState
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.engine import Engine
from artificer.runtime.notifier import SignalNotifier
from artificer.runtime.perform import Performer
from artificer.testing.rig import Rig

pytestmark = pytest.mark.req("build-owed")

SPECS = [{"name": "store", "title": "Store", "description": "Keeps it."}]


async def owing(
    kind: RunKind, owed: BuildArtifactKind, *script: Any
) -> tuple[Rig, RunState, list[Any]]:
    """A run of a kind that is offered the tool of what it owes."""
    rig = Rig()
    tool = tool_for(RequiredArtifact(kind=owed))
    provider = ScriptedProvider(list(script))
    executors = {tool.name: ArtifactExecutor(rig.blobs, (tool,))}
    performer = Performer(provider, executors, None, rig.blobs, rig.clock)
    spec = RunSpec(
        kind=kind,
        prompt="Go.",
        model="m",
        provider="scripted",
        toolset=toolset((tool,)).to_text(),
    )
    state = await Engine(rig.journal, performer, SignalNotifier(rig.signals)).start("run", spec)
    assert (await rig.replay()).identical
    return rig, state, [request["tool_choice"] for request in provider.requests]


async def test_a_plan_that_was_only_talked_about_is_demanded() -> None:
    plan = call("create_plan", title="P", overview="O", specs=SPECS)
    _, state, choices = await owing(
        "plan", "plan", say("Here is my plan: …"), reply(plan), say("There.")
    )
    assert [choice["mode"] for choice in choices] == ["auto", "tool", "auto"]
    assert choices[1]["name"] == "create_plan" and state.reason == "done"


async def test_code_is_not_hurried() -> None:
    done = call("complete_task", summary="Done.")
    _, state, choices = await owing(
        "code", "completion", say("I am not finished."), reply(done), say("There.")
    )
    assert [choice["mode"] for choice in choices] == ["auto"] * 3
    asked = [m.text for m in state.history if m.role == "user"][1]
    assert "call complete_task" in asked and state.reason == "done"


async def test_a_run_that_never_delivers_ends_and_says_so() -> None:
    _, state, choices = await owing("judge", "judgement", *[say("Looks good.")] * 5)
    assert state.reason == "repair_limit" and state.artifacts == ()
    assert choices[-1]["name"] == tool_of("judgement")
