"""The rules of a policy, and models that try to get past each of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.contracts.definition import ToolDefinition
from artificer.core.conditions import Condition
from artificer.core.policy import Decision, Occasion, Policy, PolicyQuery, Rule, consider, decide
from artificer.core.readings import readings
from artificer.core.taint import Taint, tainted
from artificer.errors import InvalidValueError
from artificer.values.base import JsonObject, JsonValue
from schemas import required_object

ANY: JsonObject = {"type": "object"}


def tool(name: str = "do", **facts: Any) -> ToolDefinition:
    return ToolDefinition(**{"name": name, "description": "d", "input_schema": ANY, **facts})


def verdict(policy: Policy, value: JsonValue, **facts: Any) -> str:
    """Return a policy's decision on the argument ``x``."""
    return decide(policy, tool(**facts), {"x": value}).decision


def denying(**condition: Any) -> Policy:
    """Everything is allowed but this."""
    return Policy(rules=(Rule(decision="deny", arguments=(Condition(at="/x", **condition),)),))


def allowing(**condition: Any) -> Policy:
    """Everything is denied but this."""
    rule = Rule(decision="allow", arguments=(Condition(at="/x", **condition),))
    return Policy(rules=(rule,), default="deny")


RULES = st.builds(
    Rule,
    decision=st.sampled_from(["allow", "deny", "ask"]),
    tool=st.sampled_from(["*", "do", "git_*"]),
    risk=st.sampled_from([(), ("low",), ("high", "critical")]),
    kind=st.sampled_from([(), ("chat",), ("deliver",)]),
    origin=st.sampled_from(["*", "function", "mcp:*"]),
    workspace=st.sampled_from(["", "", "main"]),
    arguments=st.sampled_from(
        [(), (), (Condition(at="/x", equals=5),), (Condition(at="/x", glob="a*"),)]
    ),
)
STRICTNESS = ["allow", "ask", "deny"]


@pytest.mark.req("policy-rules")
class TestRules:
    @given(
        st.lists(RULES, max_size=5),
        st.sampled_from(STRICTNESS),
        st.sampled_from(["do", "git_log"]),
        st.sampled_from(["chat", "deliver"]),
        st.lists(st.sampled_from([5, "5", "abc", "b", None]), min_size=1, max_size=3),
    )
    def test_rules_in_order_decide_up_to_the_first_sure_match(
        self, rules: list[Rule], default: Any, name: str, kind: str, values: list[JsonValue]
    ) -> None:
        policy = Policy(rules=tuple(rules), default=default)
        definition = tool(name)
        for value in values:
            query = PolicyQuery(definition, {"x": value, "workspace": "main"}, Occasion(kind))
            considered = list(consider(policy, query))
            answers = [h.rule.decision for h in considered if h.match.possible]
            if not (considered and considered[-1].match.certain):
                answers.append(policy.default)
            decision = decide(policy, definition, query.arguments, query.occasion)
            assert decision.decision == max(answers, key=STRICTNESS.index)

    @pytest.mark.parametrize(
        ("rule", "matching", "other"),
        [
            ({"tool": "git_*"}, {"name": "git_log"}, {"name": "GIT_log"}),
            ({"risk": ("high", "critical")}, {"risk": "high"}, {"risk": "low"}),
            ({"effect": ("once",)}, {"effect": "once"}, {"effect": "pure"}),
            ({"origin": "mcp:*"}, {"origin": "mcp:git"}, {"origin": "command:/mcp:git"}),
            ({"origin": "function"}, {"backend": "function"}, {"backend": "http"}),
        ],
    )
    def test_a_rule_is_about(
        self, rule: dict[str, Any], matching: dict[str, Any], other: dict[str, Any]
    ) -> None:
        policy = Policy(rules=(Rule(decision="deny", **rule),))
        assert decide(policy, tool(**matching)).decision == "deny"
        assert decide(policy, tool(**other)).decision == "allow"

    def test_a_rule_is_about_kinds_of_runs(self) -> None:
        policy = Policy(rules=(Rule(decision="deny", kind=("chat",)),))
        said = [decide(policy, tool(), {}, Occasion(kind=k)).decision for k in ("chat", "deliver")]
        assert said == ["deny", "allow"]

    def test_a_rule_is_about_the_workspace_that_a_call_names(self) -> None:
        policy = Policy(rules=(Rule(decision="allow", workspace="draft-*"),), default="deny")
        names: list[JsonValue] = ["draft-1", "main", "main/../draft-1", None]
        said = [decide(policy, tool(), {"workspace": n}).decision for n in names]
        assert said == ["allow", "deny", "deny", "deny"]

    def test_the_first_that_matches_decides_and_is_named(self) -> None:
        policy = Policy(
            rules=(
                Rule(decision="deny", tool="other"),
                Rule(decision="ask", tool="d*", reason="Costly.", name="costs"),
                Rule(decision="deny", tool="do"),
            )
        )
        assert decide(policy, tool()) == Decision(decision="ask", rule="costs", reason="Costly.")
        assert decide(policy, tool("x")) == Decision(decision="allow", rule="default", reason="")
        assert decide(policy, tool("other")).rule == "rule 1"

    def test_every_allow_list_must_name_the_tool(self) -> None:
        policy = Policy(rules=(Rule(decision="allow"),)).narrowed(("git_*", "do")).narrowed(("d*",))
        said = {name: decide(policy, tool(name)) for name in ("do", "git_log", "del")}
        assert [d.decision for d in said.values()] == ["allow", "deny", "deny"]
        assert said["del"].rule == "allow_list"
        assert decide(Policy().narrowed(()), tool()).decision == "deny"

    @given(st.sampled_from(["allow", "ask", "deny"]), st.sampled_from(["allow", "ask", "deny"]))
    def test_no_rule_waives_what_the_author_demands(self, first: Any, default: Any) -> None:
        policy = Policy(rules=(Rule(decision=first, name="mine"),), default=default)
        decision = decide(policy, tool(human_approval=True))
        assert decision.decision == ("deny" if first == "deny" else "ask")


@pytest.mark.req("policy-conditions")
class TestConditions:
    @pytest.mark.parametrize(
        ("condition", "yes", "no"),
        [
            ({"equals": "a"}, ["a"], ["b", "", "aa", None, ["a", "b"], [], {}]),
            ({"equals": 5}, [5, 5.0, [5]], [6, True, 5.5]),
            ({"equals": True}, [True], [False, 1, "true"]),
            ({"one_of": ("a", 1)}, ["a", 1, ["a", 1]], ["b", 2]),
            ({"glob": "/w/*"}, ["/w/a", "/w/a.txt"], ["/w", "/w/a/b", "/x/a", "/w/../a"]),
            ({"glob": "/w/**"}, ["/w/a", "/w/a/b"], ["/w", "/x/a", "/w/../a"]),
            ({"glob": "a?c"}, ["abc", "aéc"], ["ac", "a/c", "abbc"]),
            ({"glob": "[a].{b}+$^()"}, ["[a].{b}+$^()"], ["a.b", "[a]x{b}+$^()"]),
            ({"glob": "https://a.example/**"}, ["https://a.example/x/y?z=1"], ["https://b/"]),
            ({"pattern": "[a-z]+"}, ["abc"], ["abc1", "ABC", "abc\n", "a\nb", ""]),
            ({"minimum": 1, "maximum": "2.5"}, [1, 2, 2.5, 1.0], [0, 2.500001, "2", True, None]),
        ],
    )
    def test_an_allowed_argument_matches_surely(
        self, condition: dict[str, Any], yes: list[JsonValue], no: list[JsonValue]
    ) -> None:
        policy = allowing(**condition)
        assert [verdict(policy, v) for v in yes] == ["allow"] * len(yes)
        assert [verdict(policy, v) for v in no] == ["deny"] * len(no)

    def test_a_pointer_leads_into_the_arguments(self) -> None:
        def said(at: str, arguments: JsonObject) -> str:
            rule = Rule(decision="deny", arguments=(Condition(at=at, equals=1),))
            return decide(Policy(rules=(rule,)), tool(), arguments).decision

        for at, arguments in (
            ("/a/b", {"a": {"b": 1}}),
            ("/a~1b/m~0n", {"a/b": {"m~n": 1}}),
            ("/a~01", {"a~1": 1}),
            ("/", {"": 1}),
            ("/a/1", {"a": [0, 1]}),
            ("/a", {"a": [[2, [1]]]}),
        ):
            assert said(at, arguments) == "deny", at
        for at, arguments in (
            ("/a~1b", {"a": {"b": 1}}),
            ("/a/1", {"a": [1]}),
            ("/a/999999999", {"a": [1]}),
            ("/a/b", {"a": None}),
            ("/a/b", {}),
        ):
            assert said(at, arguments) == "allow", at

    @pytest.mark.parametrize(
        ("at", "arguments"),
        [
            ("/to/0", {"to": 1}),
            ("/to/name", {"to": [{"name": 1}]}),
            ("/to/name", {"to": "1"}),
            ("/to/01", {"to": [0, 2]}),
            ("/to/-", {"to": [2]}),
            ("/to/\u0660", {"to": [2]}),
            ("/to/9999999999999", {"to": [2]}),
        ],
    )
    def test_a_way_that_another_type_bars_is_a_doubt(self, at: str, arguments: JsonObject) -> None:
        condition = Condition(at=at, equals=1)
        for decision in ("allow", "deny"):
            policy = Policy(rules=(Rule(decision=decision, arguments=(condition,)),), default="ask")
            expected = "deny" if decision == "deny" else "ask"
            assert decide(policy, tool(), arguments).decision == expected

    def test_everything_that_is_given_must_hold(self) -> None:
        condition = Condition(at="/x", equals="a", one_of=("b",))
        assert condition.match({"x": "a"}, ANY).possible is False

    def test_a_parameter_that_is_not_given_has_its_default(self) -> None:
        schema = required_object(force={"type": "boolean", "default": True})
        policy = Policy(
            rules=(Rule(decision="deny", arguments=(Condition(at="/force", equals=True),)),)
        )
        assert decide(policy, tool(input_schema=schema), {}).decision == "deny"
        assert decide(policy, tool(input_schema=schema), {"force": False}).decision == "allow"
        assert decide(policy, tool(), {}).decision == "allow"

    def test_a_default_within_an_argument_counts_too(self) -> None:
        options: JsonObject = {"type": "object", "properties": {"force": {"default": True}}}
        by_name: JsonObject = {
            "type": "object",
            "properties": {"options": {"$ref": "#/$defs/Options"}},
            "$defs": {"Options": options},
        }
        circular: JsonObject = {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}
        condition = Condition(at="/options/force", equals=True)
        for schema in ({"type": "object", "properties": {"options": options}}, by_name):
            assert condition.match({"options": {}}, schema).certain
            assert not condition.match({"options": {"force": False}}, schema).possible
        assert not condition.match({"options": {}}, circular).possible

    @pytest.mark.parametrize(
        "fault",
        [
            {},
            {"one_of": ()},
            {"at": "", "equals": 1},
            {"at": "x"},
            {"at": "/a~2"},
            {"at": "/a~"},
            {"pattern": "("},
            {"pattern": "(?=a)"},
            {"pattern": r"(a)\1"},
            {"pattern": "a)|(b"},
            {"minimum": "1e5"},
            {"minimum": "NaN"},
            {"glob": ""},
        ],
    )
    def test_a_condition_that_means_nothing_is_refused(self, fault: dict[str, Any]) -> None:
        with pytest.raises(InvalidValueError):
            Condition(**{"at": "/x", **fault})

    def test_a_fraction_is_stored_as_text(self) -> None:
        condition = Condition(at="/x", minimum=0.1, maximum=1e22)
        assert (condition.minimum, condition.maximum) == ("0.1", "1" + "0" * 22)
        assert Condition.read(condition.canonical()) == condition

    def test_a_pattern_and_a_glob_take_linear_time(self) -> None:
        long = "a" * 200_000  # a backtracking engine would take years
        assert verdict(denying(pattern="(a+)+b"), long) == "allow"
        assert verdict(denying(glob="*a*a*a*a*a*a*a*b"), long) == "allow"


FORBIDDEN_PATHS = [
    "/etc/passwd",
    "//etc//passwd",
    "/etc/./passwd",
    "/work/../etc/passwd",
    "/work/../../../etc/passwd",
    "/ETC/Passwd",
    "\\etc\\passwd",
    "/etc/passwd\u200b",
    "/e\u00adtc/passwd",
    "/\ufeffetc/passwd",
    "／etc／passwd",
    "/ｅｔｃ/passwd",
    "/%65tc/passwd",
    "/etc%2fpasswd",
    "%252fetc%252fpasswd",
    "/work/%2e%2e/etc/passwd",
    "/work/%252e%252e/etc/passwd",
    " /etc/passwd\n",
    "/etc/passwd/",
    "/etc/passwd\x00",
    ["/work/a", "/etc/passwd"],
    ["/work/a", [["/etc/passwd"]]],
    {"path": "/etc/passwd"},
]

ESCAPES = [p for p in FORBIDDEN_PATHS if not isinstance(p, str) or "work" in p] + [
    "/work/..",
    "/work/a/../../etc",
    "/work/..%2fetc",
    "/work/．．/etc",
    "/work/\u200b../etc",
    "/work/.\u2060./etc",
    "/work/..\\etc",
    "/work/..%5cetc",
    "/Work/a",
    None,
    True,
    7,
]

HIDDEN_THOUSANDS = [
    1000,
    1000.0,
    1e3,
    5e20,
    "1000",
    "1e3",
    "+1000",
    " 1000 ",
    "１０００",
    "١٠٠٠",
    "1_000",
    "1,000",
    "0x3e8",
    "0b1111101000",
    "01000",
    "1000.",
    "Infinity",
    "NaN",
    "a thousand",
    "9" * 100,
    [1, 1000],
    {"amount": 1000},
    None,
]


@pytest.mark.req("policy-doubt")
class TestAttacks:
    """A model tries to get past a rule, and no way of writing helps it."""

    @pytest.mark.parametrize("value", FORBIDDEN_PATHS)
    def test_a_path_that_is_denied(self, value: JsonValue) -> None:
        assert verdict(denying(glob="/etc/*"), value) == "deny"
        assert verdict(denying(equals="/etc/passwd"), value) == "deny"
        assert verdict(denying(pattern="^/etc/passwd"), value) == "deny"

    @pytest.mark.parametrize("value", ESCAPES)
    def test_a_path_out_of_what_is_allowed(self, value: JsonValue) -> None:
        assert verdict(allowing(glob="/work/**"), value) == "deny"
        assert verdict(allowing(pattern="/work/[^.]+"), value) == "deny"

    @pytest.mark.parametrize("value", HIDDEN_THOUSANDS)
    def test_a_number_that_is_denied(self, value: JsonValue) -> None:
        assert verdict(denying(minimum=1000), value) == "deny"
        assert verdict(allowing(maximum=999), value) == "deny"

    @pytest.mark.parametrize("value", [1000, 1000.0, "1000", "1e3", "1_000", "0x3E8", "１０００"])
    def test_a_number_that_is_denied_by_name(self, value: JsonValue) -> None:
        assert verdict(denying(equals=1000), value) == "deny"
        assert verdict(denying(equals="1000"), value) == "deny"

    @pytest.mark.parametrize("value", ["DROP TABLE x", "ＤＲＯＰ", "x; dr\u00adop y", "d%72op"])
    def test_a_word_that_is_denied(self, value: JsonValue) -> None:
        assert verdict(denying(pattern="drop"), value) == "deny"
        assert verdict(denying(pattern="DROP"), value) == "deny"
        assert verdict(denying(glob="**drop**"), value) == "deny"

    @pytest.mark.parametrize("value", [True, "true", "TRUE", "ｔｒｕｅ", [True], {"": True}])
    def test_a_switch_that_is_denied(self, value: JsonValue) -> None:
        assert verdict(denying(equals=True), value) == "deny"

    @pytest.mark.parametrize(
        "value",
        [
            "https://evil.example/?https://api.example/",
            "https://api.example@evil.example/",
            "https://api.example.evil.example/",
            "https://api.example/../evil",
            "https://api.example%2f@evil.example/",
            "https:\\\\api.example\\..\\evil",
            "http://api.example/",
            " https://api.example/x",
        ],
    )
    def test_an_address_that_is_not_allowed(self, value: JsonValue) -> None:
        assert verdict(allowing(glob="https://api.example/**"), value) == "deny"

    def test_a_doubt_goes_to_the_strictest_of_the_rules_in_question(self) -> None:
        ask = Rule(decision="ask", name="ask", arguments=(Condition(at="/x", glob="/w/**"),))
        policy = Policy(rules=(ask,), default="deny")
        said = [decide(policy, tool(), {"x": v}) for v in ("/w/a", "/w/../a", "/a")]
        assert [(d.decision, d.rule) for d in said] == [
            ("ask", "ask"),
            ("deny", "default"),
            ("deny", "default"),
        ]
        after = Policy(rules=(ask, Rule(decision="allow")))
        assert verdict(after, "/w/../a") == "ask"

    @given(st.text(max_size=40))
    def test_a_text_is_one_of_its_readings_and_has_few(self, text: str) -> None:
        found = readings(text)
        assert found[0] == text
        assert len(found) <= 10
        assert sum(map(len, found)) <= 10 * 20 * (len(text) + 1)

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=6),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2)
            ),
            max_leaves=5,
        ),
        st.sampled_from(
            [
                Condition(at="/x", equals="a"),
                Condition(at="/x", one_of=(1, True)),
                Condition(at="/x", glob="*/a"),
                Condition(at="/x", pattern="[ab]"),
                Condition(at="/x", minimum=0, maximum="2.5"),
            ]
        ),
    )
    def test_what_is_sure_is_possible(self, value: Any, condition: Condition) -> None:
        match = condition.match({"x": value}, ANY)
        assert match.possible or not match.certain


@pytest.mark.req("policy-flow")
class TestFlow:
    TAINT = Taint(tool="web.fetch", call_id="c1")

    def test_untrusted_data_reaches_a_sensitive_tool_only_by_a_person(self) -> None:
        decision = decide(Policy(), tool(sensitive=True), {}, Occasion(taint=self.TAINT))
        assert (decision.decision, decision.rule) == ("ask", "information_flow")
        assert "'web.fetch' returned in call 'c1'" in decision.reason

    def test_a_rule_cannot_waive_it(self) -> None:
        policy = Policy(rules=(Rule(decision="allow"),))
        decision = decide(policy, tool(sensitive=True), {}, Occasion(taint=self.TAINT))
        assert decision.decision == "ask"

    def test_who_is_asked_for_another_reason_is_told_of_the_source_too(self) -> None:
        policy = Policy(rules=(Rule(decision="ask", reason="Costly."),))
        decision = decide(policy, tool(sensitive=True), {}, Occasion(taint=self.TAINT))
        assert decision.rule == "rule 1"
        assert decision.reason.startswith("Costly. 'do' is sensitive")

    def test_nothing_is_asked_without_both(self) -> None:
        assert decide(Policy(), tool(), {}, Occasion(taint=self.TAINT)).decision == "allow"
        assert decide(Policy(), tool(sensitive=True), {}, Occasion()).decision == "allow"

    def test_the_first_source_is_kept_and_what_nobody_vouches_for_is_one(self) -> None:
        untrusted = tool("web", trust="untrusted")
        assert tainted(None, tool(), "a") is None
        assert tainted(self.TAINT, untrusted, "a") == self.TAINT
        assert tainted(None, untrusted, "a") == Taint(tool="web", call_id="a")
        assert tainted(None, None, "a") is not None

    def test_a_denied_call_stays_denied(self) -> None:
        decision = decide(
            Policy(default="deny"), tool(sensitive=True), {}, Occasion(taint=self.TAINT)
        )
        assert decision.decision == "deny"
