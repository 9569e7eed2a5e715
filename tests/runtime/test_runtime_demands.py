"""A call that a tool choice demands and the gate refuses is demanded again."""

from __future__ import annotations

import pytest

from artificer.contracts.model_settings import RequestSettings
from artificer.core.policy import Policy, Rule
from artificer.core.spec import Limits
from artificer.ports import Call
from artificer.testing import ScriptedProvider, call, reply, say
from artificer.testing.rig import Rig
from artificer.values.blocks import ToolUseBlock
from artificer.values.model import ModelFailure, ToolChoice

ECHO = ToolChoice(mode="tool", name="echo")
OTHER = ToolChoice(mode="tool", name="other")
NONE = ToolChoice(mode="none")
WRONG = reply(ToolUseBlock(id="w", name="echo", arguments="{"))


async def _other(call: Call) -> str:
    return "other"


async def _echo(call: Call) -> str:
    return "echo"


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.tools.add("echo", _echo)
    rig.tools.add("other", _other)
    return rig


def demanded(provider: ScriptedProvider) -> list[str]:
    chosen = [body["tool_choice"] for body in provider.requests]
    return [str(choice.get("name") or choice["mode"]) for choice in chosen]  # type: ignore[union-attr]


@pytest.mark.req("demanded-again")
class TestADemandedCall:
    async def test_is_demanded_again_when_it_was_refused(self, rig: Rig) -> None:
        right = reply(call("echo", x=1))
        provider = ScriptedProvider([WRONG, right, reply(call("other")), say("Done.")])
        state = await rig.run(provider, choices=(ECHO, OTHER, NONE))
        assert demanded(provider) == ["echo", "echo", "other", "none"]
        assert state.demands == 1
        assert (await rig.replay()).identical

    async def test_keeps_the_settings_of_its_turn(self, rig: Rig) -> None:
        settings = (RequestSettings(seed=1), RequestSettings(seed=2))
        provider = ScriptedProvider([WRONG, reply(call("echo", x=1)), say("Done.")])
        await rig.run(provider, choices=(ECHO, NONE), settings=settings)
        assert [body["settings"]["seed"] for body in provider.requests] == [1, 1, 2]  # type: ignore[index, call-overload]

    async def test_is_demanded_again_when_another_tool_was_called(self, rig: Rig) -> None:
        script = [reply(call("other")), reply(call("echo", x=1)), say("Done.")]
        provider = ScriptedProvider(script)
        await rig.run(provider, choices=(ECHO, NONE))
        assert demanded(provider) == ["echo", "echo", "none"]

    async def test_is_given_up_after_the_repair_rounds(self, rig: Rig) -> None:
        provider = ScriptedProvider([WRONG, WRONG, WRONG, say("Done.")])
        await rig.run(provider, choices=(ECHO, NONE), limits=Limits(repairs=2))
        assert demanded(provider) == ["echo", "echo", "echo", "none"]

    async def test_that_a_policy_denies_is_not(self, rig: Rig) -> None:
        provider = ScriptedProvider([reply(call("echo", x=1)), say("Done.")])
        policy = Policy(rules=(Rule(decision="deny", tool="echo"),))
        await rig.run(provider, choices=(ECHO, NONE), policy=policy)
        assert demanded(provider) == ["echo", "none"]

    async def test_that_fails_is_not(self, rig: Rig) -> None:
        async def fail(call: Call) -> str:
            raise ValueError("No.")

        rig.tools.add("fails", fail)
        provider = ScriptedProvider([reply(call("fails")), say("Done.")])
        await rig.run(provider, choices=(ToolChoice(mode="tool", name="fails"), NONE))
        assert demanded(provider) == ["fails", "none"]

    async def test_is_demanded_again_when_the_server_refused_it(self, rig: Rig) -> None:
        refused = ModelFailure(code="invalid_call", message="No.", attempts=1)
        provider = ScriptedProvider([refused, reply(call("echo", x=1)), say("Done.")])
        await rig.run(provider, choices=(ECHO, NONE))
        assert demanded(provider) == ["echo", "echo", "none"]
        assert (await rig.replay()).identical

    async def test_was_not_under_earlier_rules(self, rig: Rig) -> None:
        provider = ScriptedProvider([WRONG, say("Done.")])
        state = await rig.run(provider, choices=(ECHO, NONE), rules=3)
        assert demanded(provider) == ["echo", "none"]
        assert state.demands == 0
