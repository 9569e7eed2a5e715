"""Conditions: what they mean, what is no condition, and what they put into a command."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.contracts.arguments.condition import parse_condition
from artificer.manifests.model import Manifest
from artificer.manifests.parse import parse_manifest
from command_lines import argv_of

pytestmark = pytest.mark.req("conditions")

VALUES: dict[str, Any] = {"mode": "fast", "port": 80, "on": True, "off": False, "none": []}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("mode == 'fast'", True),
        ('mode != "fast"', False),
        ("port == 80", True),
        ("port == '80'", True),
        ("port != 0", True),
        ("port < 81 and port >= 80", True),
        ("mode < 5", False),
        ("absent == ''", True),
        ("absent != ''", False),
        ("absent", False),
        ("on", True),
        ("off", False),
        ("on == true", True),
        ("none == ''", True),
        ("not off", True),
        ("not not on", True),
        ("on or off and off", True),
        ("(on or off) and off", False),
        ("off and on or on", True),
        ("off and (on or on)", False),
        ("not (on and off)", True),
        ("mode == 'a and b' or on", True),
        ("port>79 and(port<90)", True),
        ("port == 80.0", True),
        ("port > -1", True),
    ],
)
def test_the_grammar(text: str, holds: bool) -> None:
    assert parse_condition(text).holds(VALUES) is holds


@pytest.mark.parametrize(
    "text",
    [
        *("", "and", "mode ==", "(mode", "mode)", "mode mode", "== 1", "mode = 1", "a.b", "5x"),
        *("mode == ==", "not <"),
        *("'open", "not " * 10_000 + "a", "(" * 10_000),
    ],
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(ValueError, match=r"has|ends|cannot|nested"):
        parse_condition(text)


@given(st.text(st.sampled_from("ab '\"()=!<>0159andortrue.-_")))
def test_any_text_is_a_condition_or_a_value_error(text: str) -> None:
    try:
        condition = parse_condition(text)
    except ValueError:
        return
    assert condition.holds(VALUES) in (True, False)


def manifest_of(arguments: str, command: str) -> Manifest:
    tool = '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'
    return parse_manifest(f"{tool}{arguments}\n[command]\n{command}\n", "t.clad.toml")


ARGUMENTS = """
[args.port]
type = "port"
[args.user]
[args.verbose]
type = "boolean"
"""


@pytest.mark.parametrize("prefix", ["_", "_cond_"])
def test_a_fragment_appears_when_its_condition_holds(prefix: str) -> None:
    manifest = manifest_of(
        ARGUMENTS,
        f'template = "prog {{{prefix}login}} {{{prefix}loud}} end"\n'
        "[command.conditionals.login]\nwhen = \"port > 1024 and user != ''\"\n"
        "template = '-p {port} -u {user}'\n"
        "[command.conditionals.loud]\nwhen = \"verbose\"\ntemplate = '-v -v'",
    )
    assert argv_of(manifest, {"port": 2000, "user": "a b"}).argv == (
        "prog", "-p", "2000", "-u", "a b", "end",
    )  # fmt: skip
    assert argv_of(manifest, {"port": 22, "user": "a", "verbose": True}).argv == (
        "prog", "-v", "-v", "end",
    )  # fmt: skip
    assert argv_of(manifest, {}).argv == ("prog", "end")
    assert argv_of(manifest, {"port": 2000, "user": "-x"}).problems


def test_a_fragment_without_one_of_its_values_is_left_out() -> None:
    manifest = manifest_of(
        ARGUMENTS,
        'exec = ["prog", ["{_x}", "{verbose}"], "{_x}"]\n'
        "[command.conditionals.x]\nwhen = \"port != 0\"\ntemplate = '-p {port} --u={user}'",
    )
    assert argv_of(manifest, {"port": 80}).argv == ("prog",)
    assert argv_of(manifest, {"user": "u"}).argv == ("prog",)
    assert argv_of(manifest, {"port": 80, "user": "u"}).argv == ("prog", "-p", "80", "--u=u")


def test_a_mapping_may_stand_within_a_fragment() -> None:
    manifest = manifest_of(
        ARGUMENTS,
        'template = "prog {_x}"\n[command.mappings.verbose]\ntrue = "-v"\n'
        '[command.conditionals.x]\nwhen = "port == 80"\n'
        "template = '{_verbose_flags} {port} {_scan_flags} --user={user}'",
    )
    given = {"port": 80, "verbose": True, "user": "u"}
    assert argv_of(manifest, given).argv == ("prog", "-v", "80", "-v", "--user=u")
