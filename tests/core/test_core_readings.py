"""Every way to write a path that the guide lists is one that a rule sees."""

from __future__ import annotations

import pytest

from artificer.contracts.definition import ToolDefinition
from artificer.core.conditions import Condition
from artificer.core.policy import Occasion, Policy, Rule, decide
from artificer.core.readings import readings, wide_readings

TOOL = ToolDefinition(name="note", description="d", input_schema={"type": "object"})
DENY = Policy(rules=(Rule(decision="deny", arguments=(Condition(at="/p", glob="/etc/**"),)),))
WAYS = [
    "../../../../../../etc/passwd", "notes/../../../../../etc/passwd", "./../../etc/passwd",
    "file:///etc/passwd", "file://localhost/etc/passwd", "FILE:/etc/passwd", "file:%2f%2fh/etc/x",
    "--file=/etc/passwd", "-f/etc/passwd", "-f=/etc/passwd", "@/etc/passwd", "if=/etc/passwd",
    "--file=file:///etc/passwd", "--file=../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd",
    "/e\ufe0ftc/passwd", "/e\u034ftc/passwd", "/e\u115ftc/passwd", "/e\u3164tc/x", "/e\uffa0tc/x",
    "/etc/\u200bpasswd", "/e\U000e0061tc/passwd", "/e\U000e0101tc/x", "/e\u180etc/x",
    "\ufe0f../../etc/passwd", "/ETC/passwd", "//etc/passwd", "/tmp/../etc/passwd",
]  # fmt: skip


def word(path: str, rules: int) -> str:
    return decide(DENY, TOOL, {"p": path}, Occasion(rules=rules)).decision


@pytest.mark.req("policy-readings")
@pytest.mark.parametrize("path", WAYS)
def test_a_deny_catches_every_way_that_is_listed(path: str) -> None:
    assert word(path, 2) == "deny"


@pytest.mark.req("policy-readings")
def test_folders_that_are_left_and_entered_again_are_seen() -> None:
    secret = Condition(at="/p", glob="secret/**")
    for path in ("../project/secret/x", "a/../../project/secret/x", "../../b/project/secret/x"):
        assert secret.match({"p": path}, {}).possible


@pytest.mark.req("policy-readings")
def test_an_allow_lets_the_plain_way_through_and_no_other() -> None:
    allow = Condition(at="/p", glob="notes/*")
    assert allow.match({"p": "notes/a.md"}, {}).certain
    for path in ("../notes/a.md", "--x=notes/a.md", "file:notes/a.md", "notes/a\ufe0f.md/../../x"):
        assert not allow.match({"p": path}, {}).certain
    url = Condition(at="/p", glob="https://a.example/**")
    assert url.match({"p": "https://a.example/x=1"}, {}).certain


@pytest.mark.req("policy-readings")
def test_runs_of_older_rules_keep_their_readings() -> None:
    assert word("../../etc/passwd", 1) == "allow"
    assert word("/tmp/..//ETC/passwd", 1) == "deny"
    assert set(readings("a/b")) == set(wide_readings("a/b"))


@pytest.mark.req("policy-readings")
def test_readings_are_few_whatever_a_text_is() -> None:
    for text in ("../" * 2_000 + "a/" * 2_000, "@" * 5_000, "--a=" * 1_000, "%25" * 5_000 + "2e"):
        assert len(wide_readings(text)) < 200
