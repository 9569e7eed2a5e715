"""``[policy]`` of ``artificer.toml``: read strictly, and every fault named."""

from __future__ import annotations

from pathlib import Path

import pytest

from artificer.config import load_config
from artificer.core.conditions import Condition
from artificer.core.policy import Policy, Rule
from artificer.errors import ConfigError

pytestmark = pytest.mark.req("policy-settings")


def policy(folder: Path, text: str) -> Policy:
    (folder / "artificer.toml").write_text(text, encoding="utf-8")
    return load_config(folder).policy


def test_a_whole_section(tmp_path: Path) -> None:
    read = policy(
        tmp_path,
        """
        [policy]
        default = "deny"
        allow = ["git_*", "create_*"]
        [[policy.rules]]
        decision = "ask"
        name = "large"
        tool = "pay"
        kind = ["deliver"]
        effect = ["once", "keyed"]
        origin = "command:./tools"
        workspace = "w-*"
        arguments = [{ at = "/amount", minimum = 99.5 }, { at = "/to", one_of = ["a", 1, true] }]
        """,
    )
    rule = Rule(
        decision="ask",
        name="large",
        tool="pay",
        kind=("deliver",),
        effect=("once", "keyed"),
        origin=f"command:{tmp_path / 'tools'}",
        workspace="w-*",
        arguments=(
            Condition(at="/amount", minimum="99.5"),
            Condition(at="/to", one_of=("a", 1, True)),
        ),
    )
    assert read == Policy(default="deny", rules=(rule,), allow_lists=(("git_*", "create_*"),))


def test_nothing_is_the_default(tmp_path: Path) -> None:
    assert load_config(tmp_path).policy == Policy()


@pytest.mark.parametrize(
    ("text", "where", "hint"),
    [
        ('defualt = "deny"', "policy.defualt", "'default'"),
        ('[[rules]]\ndecision = "deny"\ntol = "x"', "policy.rules #1.tol", "'tool'"),
        (
            '[[rules]]\ndecision = "deny"\n[[rules]]\ndecision = "deny"\n'
            'arguments = [{ at = "/x", globb = "x" }]',
            "policy.rules #2.arguments #1.globb",
            "'glob'",
        ),
        ('[[rules]]\ndecision = "maybe"', "policy.rules #1.decision", ""),
        ('[[rules]]\ndecision = "deny"\nrisk = ["huge"]', "policy.rules #1.risk #1", ""),
        ('[[rules]]\ndecision = "deny"\nkind = ["deliverr"]', "policy.rules #1.kind", "'deliver'"),
        ('[[rules]]\ndecision = "deny"\narguments = [{ at = "x" }]', "arguments #1.at", ""),
        (
            '[[rules]]\ndecision = "deny"\narguments = [{ at = "/x" }]',
            "policy.rules #1.arguments #1",
            "",
        ),
        (
            '[[rules]]\ndecision = "deny"\narguments = [{ at = "/x", pattern = "(?=a)" }]',
            "linear time",
            "",
        ),
        ('cedar = ["no-such.cedar"]', "no-such.cedar", ""),
        (
            '[[rules]]\ndecision = "deny"\nname = "a"\n[[rules]]\ndecision = "ask"\nname = "a"',
            "two rules have the name 'a'",
            "",
        ),
    ],
)
def test_a_fault_is_told_with_file_and_key(
    tmp_path: Path, text: str, where: str, hint: str
) -> None:
    section = "[policy]\n" + text.replace("[[rules]]", "[[policy.rules]]")
    with pytest.raises(ConfigError) as caught:
        policy(tmp_path, section)
    assert where in caught.value.message
    assert str(tmp_path) in caught.value.message
    assert hint in (caught.value.hint or "")
