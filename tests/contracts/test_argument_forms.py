"""Arguments beyond a plain value: lists, limits that clamp, a folder's own types, sanitizing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.backends.command.spec.section import bind_command
from artificer.contracts.schema import compile_schema
from artificer.errors import ManifestError
from artificer.manifests.custom_types import parse_folder_keys
from artificer.manifests.model import Manifest
from artificer.manifests.parse import parse_manifest
from command_lines import argv_of

TOOL = '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'


def manifest_of(arguments: str, command: str, folder: str = "") -> Manifest:
    keys = parse_folder_keys(folder, "toolclad.toml")
    return parse_manifest(f"{TOOL}{arguments}\n[command]\n{command}\n", "t", folder=keys)


def refused(manifest: Manifest, **values: Any) -> bool:
    problems = compile_schema(manifest.input_schema).problems(values)
    return bool(problems) or bool(argv_of(manifest, values).problems)


@pytest.mark.req("argument-types")
@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (
            "scope_target",
            ["example.org", "a-b.example.org.", "10.0.0.1", "10.0.0.0/8", "::1", "2001:db8::/32"],
            [
                "", " example.org", "a b", "*.example.org", "e?ample.org", "../x", "a/b", "a\\b",
                "ex\u0430mple.org", "xn--e1afmkfd.org", "a.XN--e1afmkfd.org", "999.999.999.999",
                "2130706433", "0x7f.1", "127.1", "fe80::1%x --flood y", "-x", "-x.org", "a..b",
                "a.1", "x" * 254, "10.0.0.0/33", "10.0.0.1/", "http://h/", "a;b", "a\n",
            ],
        ),
        (
            "cidr",
            ["10.0.0.0/8", "10.1.2.3/8", "2001:db8::/32", "0.0.0.0/0"],
            ["10.0.0.0", "10.0.0.0/33", "::/129", "fe80::%x/10", "10/8", "a/8", "::/1.0.0.0"],
        ),
        (
            "msf_options",
            ["RHOSTS 10.0.0.1", "RHOSTS 10.0.0.1; RPORT 445", "A_1 b c;", ""],
            ["set RHOSTS x", "rhosts x", "RHOSTS", "A b|c", "A $(x)", "A b\nB c", "A `x`"],
        ),
        ("credential_file", ["keys/id", "x"], ["/etc/shadow", "../x", "~/x", ""]),
        ("enum", ["a", "-s"], ["b", "", "A", None]),
    ],
)  # fmt: skip
def test_the_types_of_networks_and_files(kind: str, good: list[Any], bad: list[Any]) -> None:
    allowed = '\nallowed = ["a", "-s"]' if kind == "enum" else ""
    manifest = manifest_of(f'[args.x]\ntype = "{kind}"{allowed}', 'exec = ["p", ["--x={x}"]]')
    assert [value for value in good if refused(manifest, x=value)] == []
    assert [value for value in bad if not refused(manifest, x=value)] == []


@pytest.mark.req("argument-lists")
def test_a_list_becomes_an_item_for_each_value() -> None:
    manifest = manifest_of(
        "[args.words]\nlist = true\nmax_items = 3\n"
        '[args.files]\ntype = "path"\nlist = true\nrequired = true',
        'exec = ["grep", "-e{words}", ["--", "{files}"]]',
    )
    assert argv_of(manifest, {"words": ["a", "b c"], "files": ["x", "y"]}).argv == (
        "grep", "-ea", "-eb c", "--", "x", "y",
    )  # fmt: skip
    assert argv_of(manifest, {"words": [], "files": ["x"]}).argv == ("grep", "--", "x")
    assert refused(manifest, words=["a", "b", "c", "d"], files=["x"])
    assert refused(manifest, files=[])
    assert refused(manifest, files="x")
    assert refused(manifest, files=["x", None])
    problems = argv_of(manifest, {"files": ["x", "../y"]}).problems
    assert [p.pointer for p in problems] == ["/files/1"]


@pytest.mark.req("argument-lists")
@given(st.lists(st.text(max_size=20), max_size=5))
def test_no_value_of_a_list_makes_more_than_its_item(words: list[str]) -> None:
    manifest = manifest_of("[args.w]\nlist = true", 'exec = ["p", "{w}", "end"]')
    built = argv_of(manifest, {"w": words})
    if built.problems:
        return
    assert built.argv == ("p", *words, "end")
    assert not any(word.startswith("-") for word in words)


@pytest.mark.req("argument-lists")
def test_lists_in_mappings_and_their_defaults() -> None:
    manifest = manifest_of(
        '[args.what]\ntype = "enum"\nallowed = ["a", "b"]\nlist = true\ndefault = ["b"]',
        'exec = ["p", "{_what_flags}"]\n[command.mappings.what]\na = "-a -A"\nb = "-b"',
    )
    assert argv_of(manifest, {}).argv == ("p", "-b")
    assert argv_of(manifest, {"what": ["a", "b"]}).argv == ("p", "-a", "-A", "-b")
    with pytest.raises(ManifestError, match="joins two lists"):
        manifest_of("[args.a]\nlist = true\n[args.b]\nlist = true", 'exec = ["p", "{a}{b}"]')


@pytest.mark.req("argument-clamp")
def test_a_number_beyond_its_limits_is_brought_to_them_and_that_is_told() -> None:
    manifest = manifest_of(
        '[args.n]\ntype = "integer"\nmin = 1\nmax = 10\nclamp = true\ndescription = "How many."',
        'exec = ["p", ["{n}"]]',
    )
    assert not refused(manifest, n=999_999)
    assert argv_of(manifest, {"n": 999_999}).argv == ("p", "10")
    assert argv_of(manifest, {"n": -5}).argv == ("p", "1")
    assert argv_of(manifest, {"n": 5}).argv == ("p", "5")
    assert bind_command(manifest, {"n": 999_999}).notes == ("n: 999999 was brought to 10",)
    assert bind_command(manifest, {"n": 5}).notes == ()
    properties: Any = manifest.input_schema["properties"]
    assert properties["n"]["description"].startswith("How many. A value beyond 1 to 10")
    assert refused(manifest, n="5")


@pytest.mark.req("argument-sanitize")
def test_sanitize_refuses_what_the_reference_refuses_always() -> None:
    manifest = manifest_of('[args.x]\nsanitize = ["injection"]', 'exec = ["p", ["{x}"]]')
    for character in ";|&$`(){}[]<>!":
        assert argv_of(manifest, {"x": f"a{character}"}).problems
    assert argv_of(manifest, {"x": "it's fine # ~*?"}).argv


@pytest.mark.req("custom-types")
def test_a_folders_own_types_have_limits_that_win() -> None:
    folder = """
    [types.service]
    base = "enum"
    allowed = ["ssh", "ftp"]
    [types.small]
    base = "number"
    max_float = 1.5
    [types.tag]
    base = "string"
    pattern = "v[0-9]+"
    """
    manifest = manifest_of(
        '[args.s]\ntype = "service"\nrequired = true\n[args.n]\ntype = "small"\nmax = 99\n'
        '[args.t]\ntype = "tag"',
        'exec = ["p", "{s}", ["--n={n}"], ["--t={t}"]]',
        folder,
    )
    assert argv_of(manifest, {"s": "ssh", "n": 1.5, "t": "v2"}).argv == (
        "p",
        "ssh",
        "--n=1.5",
        "--t=v2",
    )
    for bad in ({"s": "http"}, {"s": "ssh", "n": 2}, {"s": "ssh", "t": "2"}):
        assert refused(manifest, **bad)


@pytest.mark.req("custom-types")
def test_types_do_not_nest_and_unknown_ones_are_told() -> None:
    with pytest.raises(ManifestError, match=r"types\.b\.base"):
        parse_folder_keys('[types.a]\nbase = "string"\n[types.b]\nbase = "a"', "toolclad.toml")
    with pytest.raises(ManifestError, match="did you mean 'service'"):
        manifest_of('[args.s]\ntype = "servic"', 'exec = ["p"]', '[types.service]\nbase = "string"')
    with pytest.raises(ManifestError, match="not valid TOML"):
        parse_folder_keys("[types", "toolclad.toml")
