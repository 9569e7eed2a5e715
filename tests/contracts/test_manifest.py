"""Manifests: what they promise a model, and how their faults are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from artificer.contracts.schema import compile_schema
from artificer.core.policy import Policy, Rule, decide
from artificer.errors import ManifestError
from artificer.manifests.model import Manifest
from artificer.manifests.parse import parse_manifest
from command_lines import argv_of

CASES = Path(__file__).parents[1] / "cases" / "manifests"

TOOL = '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'


def manifest_of(arguments: str, command: str) -> Manifest:
    return parse_manifest(f"{TOOL}{arguments}\n[command]\n{command}\n", "t.clad.toml")


def faults_of(text: str) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text, "t.clad.toml")
    return caught.value.message.splitlines()


@pytest.mark.req("manifest-faults")
@pytest.mark.parametrize("case", sorted(CASES.glob("*.clad.toml")), ids=lambda case: case.name)
def test_all_faults_of_a_file_are_told_with_key_and_line(case: Path) -> None:
    """Each case says in its comments which faults it has: ``#! words | words``, at that line."""
    text = case.read_text()
    expected = [
        (number, words.strip())
        for number, line in enumerate(text.splitlines(), 1)
        if "#!" in line
        for words in line.partition("#!")[2].split("|")
    ]
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text, "case")
    told = caught.value.message.splitlines()
    for number, words in expected:
        assert any(t.startswith(f"case:{number}: ") and words in t for t in told), (words, told)
    assert len(told) == len(expected), told


@pytest.mark.req("manifest-faults")
def test_what_is_not_toml_says_where() -> None:
    assert "at line 2" in faults_of("[tool]\nname = = 1")[0]
    assert "args.a.min: nan is not a JSON number" in faults_of("[args.a]\nmin = nan")[0]
    assert "x.2.y: -inf is not a JSON number" in faults_of("x = [1, {y = -inf}]")[0]
    assert "at line 1" in faults_of("a = 1e999")[0]
    assert "not valid TOML" in faults_of("a = " + "[" * 100_000)[0]


@pytest.mark.req("manifest-approval")
def test_an_approval_that_the_manifest_demands_no_rule_waives() -> None:
    text = f'{TOOL}human_approval = true\n[command]\nexec = ["true"]\n'
    manifest = parse_manifest(text, "t.clad.toml")
    decision = decide(Policy(rules=(Rule(decision="allow"),)), manifest.definition)
    assert (decision.decision, decision.rule) == ("ask", "human_approval")
    refused = decide(Policy(rules=(Rule(decision="deny"),)), manifest.definition)
    assert refused.decision == "deny"


@pytest.mark.req("manifest-schema")
def test_the_schema_carries_every_constraint() -> None:
    manifest = manifest_of(
        """
        [args.mode]
        position = 2
        type = "enum"
        allowed = ["fast", "slow"]
        default = "slow"
        [args.port]
        position = 1
        type = "port"
        max = 8000
        required = true
        description = "Where."
        [args.rate]
        position = 3
        type = "number"
        min_float = 0.5
        max_float = 2
        [args.word]
        position = 4
        pattern = "[a-z]+"
        """,
        'exec = ["prog", "{port}", "{mode}", ["--rate={rate}"], ["{word}"]]',
    )
    schema: Any = manifest.definition.input_schema
    assert list(schema["properties"]) == ["port", "mode", "rate", "word"]
    assert schema["required"] == ["port"]
    assert schema["additionalProperties"] is False
    port = {"type": "integer", "minimum": 1, "maximum": 8000, "description": "Where."}
    assert schema["properties"]["port"] == port
    check = compile_schema(schema).problems
    assert check({"port": 80, "mode": "fast", "rate": 1.5, "word": "abc"}) == ()
    for bad in (
        {"port": 0},
        {"port": 8001},
        {"port": True},
        {"port": "80"},
        {"port": 80, "mode": "other"},
        {"port": 80, "rate": 2.5},
        {"port": 80, "word": "abc-"},
        {"port": 80, "word": "abc\n"},
        {"port": 80, "word": None},
        {"port": 80, "evil": "b"},
    ):
        assert check(bad), bad


@pytest.mark.req("manifest-schema")
def test_the_definition_carries_the_contract() -> None:
    text = TOOL + 'timeout_seconds = 7\nrisk_tier = "high"\nhuman_approval = false\n'
    text += 'effect = "keyed"\nbinary = "true"\n[command]\nexec = ["/bin/true"]\n'
    definition = parse_manifest(text, "t").definition
    assert (definition.timeout_ms, definition.risk, definition.effect) == (7000, "high", "keyed")
    assert definition.backend == "command"


@pytest.mark.req("argument-types")
@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("string", ["a b", "", "it's; $(x)", "ünï"], ["a\0b", "a\nb", "a\tb", "\x7f", "\ud800"]),
        ("integer", [0, -5, 2**53 - 1], [1.5, 2**53, "5", "٣", "1_000", None, [1], True]),
        ("number", [1, 1.5, -2e300], ["1", None, True]),
        ("boolean", [True, False], ["true", 1, 0, None]),
        ("path", ["a", "a/b.txt", "a..b", "."], ["/etc", "../x", "a/..", "~/x", "C:x", "a\\b", ""]),
        ("port", [1, 65535], [0, 65536, "80", 1.5]),
        (
            "ip_address",
            ["127.0.0.1", "::1", "fe80::1"],
            ["fe80::1%x --flood y", "fe80::1%eth0", "1", "127.1", "999.1.1.1", "a", "01.2.3.4"],
        ),
        (
            "url",
            [
                "http://h/",
                "https://a.b-c.de:8443/p?q=1&r=%20#f",
                "http://[::1]:80/",
                "http://1.2.3.4",
            ],
            [
                "http://h/ -o PWNED",
                "file:///etc/hostname",
                "http://2130706433/",
                "http://0x7f.1/",
                "http://999.999.999.999/",
                "http://u:p@h/",
                "http:///x",
                "http://h:0/",
                "http://h:99999/",
                "http://[::1",
                "http://[fe80::1%25x]/",
                "http://пример/",
                "javascript:alert(1)",
                "-o",
            ],
        ),
        ("duration", ["5", "30", "5m", "1h30m", "2s500ms"], ["5m\n", "-5", "", "m", "5x", "1s1h"]),
    ],
)
def test_each_type_takes_what_it_is_for_and_nothing_else(
    kind: str, good: list[Any], bad: list[Any]
) -> None:
    manifest = manifest_of(f'[args.x]\ntype = "{kind}"', 'exec = ["p", ["--x={x}"]]')
    schema = compile_schema(manifest.input_schema)

    def refused(value: Any) -> bool:
        given = {"x": value}
        return bool(schema.problems(given)) or bool(argv_of(manifest, given).problems)

    assert [value for value in good if refused(value)] == []
    assert [value for value in bad if not refused(value)] == []


@pytest.mark.req("argument-types")
def test_opting_in_to_newlines_and_schemes() -> None:
    manifest = manifest_of(
        '[args.x]\nmultiline = true\n[args.u]\ntype = "url"\nschemes = ["ftp"]',
        'exec = ["p", ["--x={x}"], ["--u={u}"]]',
    )
    assert argv_of(manifest, {"x": "a\n\tb"}).argv == ("p", "--x=a\n\tb")
    assert argv_of(manifest, {"x": "a\rb"}).problems
    assert argv_of(manifest, {"u": "ftp://h/"}).argv == ("p", "--u=ftp://h/")
    assert argv_of(manifest, {"u": "http://h/"}).problems


@pytest.mark.req("manifest-resources")
def test_resources_are_those_of_the_call() -> None:
    head = f'{TOOL}resources = ["file:{{path}}", "db"]\n'
    body = '[args.path]\ntype = "string"\nrequired = true\n[command]\nexec = ["cat", "{path}"]\n'
    definition = parse_manifest(head + body, "t.clad.toml").definition
    assert definition.resources_of({"path": "a"}) == ("file:a", "db")
    assert definition.resources_of({"path": "{path}"}) == ("file:{path}", "db")
    wrong = faults_of(f'{TOOL}resources = ["file:{{other}}"]\n{body}')
    assert wrong == ["t.clad.toml:5: tool.resources: {other} is not an argument"]
