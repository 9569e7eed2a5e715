"""A rule that can never match is found before anything runs: a mistyped deny never allows."""

from __future__ import annotations

from typing import Any

import pytest

from artificer.contracts.definition import ToolDefinition, toolset
from artificer.core.conditions import Condition
from artificer.core.lint import rule_faults
from artificer.core.policy import Policy, Rule
from artificer.errors import ConfigError
from artificer.values.base import JsonObject
from artificer.wiring.policies import require_fitting, tools_of_builds

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "to": {"type": "array", "items": {"$ref": "#/$defs/person"}},
        "more": {"type": "object"},
        "either": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/person"}]},
    },
    "additionalProperties": False,
    "$defs": {"person": {"type": "object", "properties": {"mail": {"type": "string"}}}},
}
TOOLS = toolset(
    (
        ToolDefinition(name="note", description="d", input_schema=SCHEMA, origin="command:/t"),
        ToolDefinition(name="git_log", description="d", input_schema={"type": "object"}),
    )
)


def faults(**rule: Any) -> list[tuple[str, bool]]:
    policy = Policy(rules=(Rule(decision=rule.pop("decision", "deny"), **rule),))
    return [(fault.message, fault.fatal) for fault in rule_faults(policy, TOOLS)]


def at(pointer: str) -> tuple[Condition, ...]:
    return (Condition(at=pointer, glob="/etc/**"),)


@pytest.mark.req("policy-never")
@pytest.mark.parametrize(
    "pointer", ["/path", "/to", "/to/0", "/to/0/mail", "/more", "/more/any", "/either/mail"]
)
def test_an_argument_that_a_tool_may_have_is_no_fault(pointer: str) -> None:
    assert faults(tool="note", arguments=at(pointer)) == []


@pytest.mark.req("policy-never")
@pytest.mark.parametrize("pointer", ["/pth", "/path/x", "/to/0/male", "/to/mail", "/either/male"])
def test_an_argument_that_no_tool_has_is_fatal_to_what_protects(pointer: str) -> None:
    ((message, fatal),) = faults(tool="note", arguments=at(pointer))
    assert message.startswith(f"{pointer}: no argument of note")
    assert fatal
    assert faults(tool="note", arguments=at(pointer), decision="allow") == [(message, False)]


@pytest.mark.req("policy-never")
def test_a_slip_is_told_with_what_was_meant() -> None:
    assert faults(tool="note", arguments=at("/pth")) == [
        ("/pth: no argument of note; did you mean '/path'?", True)
    ]
    for slip in ("nte", "notes", "ntoe", "Note", "mote"):
        assert faults(tool=slip) == [
            (f"tool {slip!r}: there is no such tool; did you mean 'note'?", True)
        ]


@pytest.mark.req("policy-never")
def test_a_rule_for_tools_of_other_runs_is_not_fatal() -> None:
    assert faults(tool="mail_send") == [("tool 'mail_send': there is no such tool", False)]
    assert faults(tool="http_*") == [("tool 'http_*': there is no such tool", False)]
    assert faults(tool="note", risk=("critical",)) == [
        ("its origin, risk and effect together fit none of the tools that it names", False)
    ]
    assert faults(arguments=at("/anything")) == []  # git_log takes what it is given


@pytest.mark.req("policy-never")
@pytest.mark.parametrize("origin", ["mpc:*", "comand:./tools", "MCP:x"])
def test_an_origin_that_no_tool_can_have_is_fatal(origin: str) -> None:
    ((message, fatal),) = faults(origin=origin)
    assert fatal
    assert "tools come from" in message


@pytest.mark.req("policy-never")
@pytest.mark.parametrize(
    "glob",
    [
        "^/etc/",
        "/etc/.*",
        ".*",
        "/etc/.+",
        r"\d+",
        "(a|b)",
        "/etc/passwd$",
        "[a-z]+",
        "a{2}",
    ],
)
def test_a_glob_that_is_written_as_a_regular_expression_is_fatal(glob: str) -> None:
    found = faults(tool="note", arguments=(Condition(at="/path", glob=glob),))
    assert [fatal for _, fatal in found] == [True]


@pytest.mark.req("policy-never")
@pytest.mark.parametrize("pattern", ["/etc/**", "notes/*.md", "a/**/b"])
def test_a_pattern_that_is_written_as_a_glob_is_fatal(pattern: str) -> None:
    found = faults(tool="note", arguments=(Condition(at="/path", pattern=pattern),))
    assert [fatal for _, fatal in found] == [True]


@pytest.mark.req("policy-never")
def test_what_belongs_to_either_language_is_left_alone() -> None:
    for glob in ("/etc/**", "notes/*.md", "report.*", "**/*.pem", "a?c", "x (1).txt", "a|b"):
        assert faults(tool="note", arguments=(Condition(at="/path", glob=glob),)) == []
    for pattern in ("^/etc/.*", r".*\.md", "a*b", "[a-z]+/x"):
        assert faults(tool="note", arguments=(Condition(at="/path", pattern=pattern),)) == []


@pytest.mark.req("policy-never")
def test_the_tools_of_builds_are_known_before_one_begins() -> None:
    policy = Policy(rules=(Rule(decision="deny", tool="host.writ", arguments=at("/path")),))
    with pytest.raises(ConfigError, match="did you mean 'host"):
        require_fitting(policy, tools_of_builds())
    right = Rule(decision="deny", tool="host.write", arguments=at("/path"))
    require_fitting(Policy(rules=(right,)), tools_of_builds())
