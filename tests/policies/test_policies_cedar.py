"""Cedar policies: asked beside the rules, never instead of them, and never by guessing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.config import load_config
from artificer.contracts.definition import CedarKeys, ToolDefinition
from artificer.core import events as ev
from artificer.core.facts import Judges
from artificer.core.policy import Decision, Occasion, Policy, PolicyText, Rule, decide
from artificer.core.taint import Taint
from artificer.errors import ConfigError
from artificer.policies.cedar import consult
from artificer.policies.statements import statements
from artificer.ports import Call
from artificer.providers.scripted import ScriptedProvider, call, reply, say
from artificer.runtime.proving.replay import replay
from artificer.testing.rig import Rig

PERMIT = "permit(principal, action, resource);"


def cedar(*texts: str, **facts: Any) -> Policy:
    return Policy(
        cedar=tuple(PolicyText(name=f"{n}.cedar", text=t) for n, t in enumerate(texts)), **facts
    )


def tool(**facts: Any) -> ToolDefinition:
    return ToolDefinition(
        **{"name": "do", "description": "d", "input_schema": {"type": "object"}, **facts}
    )


def ask(
    policy: Policy, arguments: Any = None, occasion: Occasion | None = None, **facts: Any
) -> Decision:
    return decide(policy, tool(**facts), arguments or {}, occasion, consult)


@pytest.mark.req("cedar-both")
class TestBoth:
    def test_rules_and_cedar_must_both_allow(self) -> None:
        deny = (Rule(decision="deny"),)
        assert ask(cedar(PERMIT)).decision == "allow"
        assert ask(cedar(PERMIT, rules=deny)).decision == "deny"
        assert ask(cedar("forbid(principal, action, resource);", PERMIT)).decision == "deny"
        assert ask(cedar("forbid(principal, action, resource);", rules=deny)).decision == "deny"

    def test_what_nothing_permits_is_denied(self) -> None:
        decision = ask(cedar("// nothing\n"))
        assert (decision.decision, decision.reason) == ("deny", "No Cedar policy permits it.")

    def test_a_permit_may_ask(self) -> None:
        policy = cedar(
            PERMIT, '@id("big") @ask("Big.")\n' + PERMIT[:-1] + " when {context.arguments.n > 5};"
        )
        small, big = ask(policy, {"n": 5}), ask(policy, {"n": 6})
        assert (small.decision, small.rule) == ("allow", "default, cedar 0.cedar:1")
        assert (big.decision, big.reason) == ("ask", "Big.")
        assert big.rule == "cedar 0.cedar:1, big"

    def test_cedar_cannot_waive_what_the_author_or_the_labels_demand(self) -> None:
        tainted = Occasion(taint=Taint(tool="web", call_id="c"))
        assert ask(cedar(PERMIT), human_approval=True).decision == "ask"
        assert ask(cedar(PERMIT), occasion=tainted, sensitive=True).rule == "information_flow"

    def test_without_an_engine_nothing_is_allowed(self) -> None:
        decision = decide(cedar(PERMIT), tool())
        assert (decision.decision, decision.rule) == ("deny", "cedar")


@pytest.mark.req("cedar-request")
class TestRequest:
    @pytest.mark.parametrize(
        "when",
        [
            'principal == Model::"anthropic/claude"',
            'action == Action::"scan"',
            'resource == Net::Host::"do"',
            "resource is Net::Host",
            'context.tool == "do" && context.kind == "chat" && context.risk == "high"',
            'context.effect == "pure" && context.backend == "command"',
            'context.origin == "command:/t"',
            "context.sensitive && !context.tainted",
            'context.arguments.path == "/a" && context.arguments.n == 5',
            'context.arguments.ratio.lessThan(decimal("0.6"))',
            'context.arguments.items.contains("x") && !(context.arguments has none)',
        ],
    )
    def test_what_a_policy_sees_of_a_call(self, when: str) -> None:
        arguments = {"path": "/a", "n": 5.0, "ratio": 0.5, "items": ["x", {"y": [1]}], "none": None}
        decision = ask(
            cedar(f"permit(principal, action, resource) when {{ {when} }};"),
            arguments,
            Occasion("chat", "anthropic/claude"),
            risk="high",
            effect="pure",
            backend="command",
            origin="command:/t",
            sensitive=True,
            cedar=CedarKeys(resource="Net::Host", action="scan"),
        )
        assert decision.decision == "allow", decision.reason

    def test_without_metadata_a_call_is_of_a_tool(self) -> None:
        text = 'permit(principal, action == Action::"call", resource == Tool::"do");'
        assert ask(cedar(text)).decision == "allow"


FORBID_BIG = PERMIT + "forbid(principal, action, resource) when {context.arguments.n > 5};"


@pytest.mark.req("cedar-closed")
class TestAttacks:
    @pytest.mark.parametrize(
        "n",
        [
            6,
            6.0,
            "6",
            5.5,
            True,
            None,
            [6],
            {"x": 6},
            {"__extn": {"fn": "decimal", "arg": "1.0"}},
            {"__entity": {"type": "Model", "id": "root"}},
            {"deep": [{"__expr": "principal"}]},
            1e300,
            0.00001,
        ],
    )
    def test_what_cannot_be_compared_is_denied(self, n: Any) -> None:
        assert ask(cedar(FORBID_BIG), {"n": n}).decision == "deny"
        assert ask(cedar(FORBID_BIG), {"n": 5}).decision == "allow"

    def test_an_argument_that_a_forbid_needs_and_does_not_get(self) -> None:
        decision = ask(cedar(FORBID_BIG), {})
        assert decision.decision == "deny"
        assert "could not be asked" in decision.reason

    def test_an_argument_is_no_entity(self) -> None:
        text = 'permit(principal, action, resource) when {context.arguments.who == Model::"root"};'
        claim = {"who": {"__entity": {"type": "Model", "id": "root"}}}
        decision = ask(cedar(text), claim)
        assert decision.decision == "deny"
        assert "__entity" in decision.reason

    def test_names_of_tools_and_models_are_only_names(self) -> None:
        text = 'permit(principal == Model::"a", action, resource);'
        for model in ('a" || true || "', 'a"', "a\n", "A"):
            assert ask(cedar(text), {}, Occasion(model=model)).decision == "deny"

    @given(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(1 - 2**53, 2**53 - 1)
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(max_size=5),
            lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=3), x, max_size=3),
            max_leaves=8,
        )
    )
    def test_any_arguments_get_an_answer(self, value: Any) -> None:
        decision = ask(cedar(PERMIT), {"x": value})
        assert decision.decision in ("allow", "deny")


@pytest.mark.req("cedar-faults")
class TestFaults:
    def load(self, folder: Path, text: str) -> Policy:
        (folder / "artificer.toml").write_text(
            '[policy]\ncedar = ["p/*.cedar"]\n', encoding="utf-8"
        )
        (folder / "p").mkdir()
        (folder / "p" / "a.cedar").write_text(text, encoding="utf-8")
        return load_config(folder).policy

    @pytest.mark.parametrize(
        ("text", "line", "what"),
        [
            (f"{PERMIT}\n\n// x;\npermit(principal, action);", 4, ""),
            (f'{PERMIT}\n@id(";//")\npermit(principal,\n action,\n ressource);', 2, "ressource"),
            (f"{PERMIT}\n{PERMIT[:-1]}", 2, "end of input"),
            ("\n\npermit(principal == ?principal, action, resource);", 3, "template"),
            ('@ask("x")\nforbid(principal, action, resource);', 1, "nobody can approve"),
            (f'{PERMIT}\n@asks("x") {PERMIT}', 2, "did you mean @ask"),
            (f'@Ask("x") {PERMIT}', 1, "did you mean @ask"),
        ],
    )
    def test_a_fault_has_file_and_line(
        self, tmp_path: Path, text: str, line: int, what: str
    ) -> None:
        with pytest.raises(ConfigError) as caught:
            self.load(tmp_path, text)
        assert f"a.cedar:{line}: " in caught.value.message
        assert what in caught.value.message

    def test_a_policy_keeps_its_text(self, tmp_path: Path) -> None:
        text = f'@advice("other tools\' annotations stay") {PERMIT}\n'
        assert self.load(tmp_path, text).cedar == (PolicyText(name="a.cedar", text=text),)

    @given(st.lists(st.sampled_from([PERMIT, "// a;b\n", '@id(";") ' + PERMIT, "\n", "x"])))
    def test_statements_are_the_text_cut(self, parts: list[str]) -> None:
        text = "".join(parts)
        cut = list(statements(text))
        assert "".join(s for _, s in cut) == text[: sum(len(s) for _, s in cut)]
        assert [line for line, _ in cut] == sorted(line for line, _ in cut)


@pytest.mark.req("cedar-recorded")
class TestRecorded:
    async def play(self) -> Rig:
        async def work(call: Call) -> str:
            return "did it"

        rig = Rig()
        rig.tools.add("go", work)
        engine = rig.engine(ScriptedProvider([reply(call("go", n=6), call("go", n=1)), say(".")]))
        engine.judges = Judges(consult)
        await engine.start("run", rig.spec(policy=cedar(FORBID_BIG)))
        return rig

    async def test_verdicts_are_facts_with_their_rule(self) -> None:
        rig = await self.play()
        (judged,) = [e for e in await rig.events() if isinstance(e, ev.CallsJudged)]
        assert [(v.verdict, v.rule) for v in judged.verdicts] == [
            ("denied", "cedar 0.cedar:1"),
            ("allow", "default, cedar 0.cedar:1"),
        ]
        assert [c.arguments for c in rig.tools.calls] == [{"n": 1}]

    async def test_a_replay_asks_them_again(self) -> None:
        rig = await self.play()
        again = await replay(rig.journal, rig.blobs, "run", ScriptedProvider([]), consult)
        assert (again.identical, again.drift, again.verdicts_unchecked) == (True, [], 0)

    async def test_a_replay_without_an_engine_goes_on_from_what_was_recorded(self) -> None:
        found = await (await self.play()).replay()
        assert (found.identical, found.drift, found.verdicts_unchecked) == (True, [], 2)

    @pytest.mark.req("replay-decisions")
    async def test_an_engine_that_answers_otherwise_is_drift(self) -> None:
        rig = await self.play()

        def other(texts: object, asked: object) -> Decision:
            return Decision(decision="deny", rule="cedar", reason="No.")

        found = await replay(rig.journal, rig.blobs, "run", ScriptedProvider([]), other)
        assert found.identical
        assert found.drift == ["CallsJudged (intent 2); call call_1_1: recorded allow, now denied"]


@pytest.mark.req("cedar-lazy")
def test_it_is_imported_only_when_there_are_policies() -> None:
    code = (
        "import sys, asyncio, artificer.world as w\n"
        "from artificer.agent import Agent\n"
        "from artificer.config import Config\n"
        "from artificer.providers.scripted import ScriptedProvider, say\n"
        "world = w.World.in_memory(Config())\n"
        "run = asyncio.run(world.run('x', Agent(model=ScriptedProvider([say('hi')]))))\n"
        "assert run.status == 'completed', run\n"
        "assert 'cedarpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
