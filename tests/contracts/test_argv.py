"""From values to an argument vector: a value never leaves its own argument."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.manifests.model import Manifest
from artificer.manifests.parse import parse_manifest
from command_lines import argv_of


def manifest_of(arguments: str, command: str) -> Manifest:
    tool = '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'
    return parse_manifest(f"{tool}{arguments}\n[command]\n{command}\n", "t.clad.toml")


STRINGS = "[args.a]\nrequired = true\n[args.b]\nrequired = true\n"
FORMS = {
    "template": manifest_of(STRINGS, "template = \"prog -v '{a}' --b={b} {a}{b} -- {b}\""),
    "exec": manifest_of(STRINGS, 'exec = ["prog", "-v", "{a}", "--b={b}", "{a}{b}", "--", "{b}"]'),
}
texts = st.one_of(
    st.text(),
    st.text("-'\"\\ {}ab$`;|&=\n\0"),
    st.sampled_from(["--version", "-", "--", "a' --evil 'b", "{b}", "{{a}}", "a\\b", "x y  z"]),
)


@pytest.mark.req("argv-injection")
@pytest.mark.parametrize("form", FORMS)
@given(a=texts, b=texts)
def test_no_text_changes_the_number_of_items_or_begins_an_option(form: str, a: str, b: str) -> None:
    built = argv_of(FORMS[form], {"a": a, "b": b})
    if built.problems:
        assert built.argv == ()
        return
    assert built.argv == ("prog", "-v", a, f"--b={b}", a + b, "--", b)
    assert not built.argv[2].startswith("-")
    assert not built.argv[4].startswith("-")


@pytest.mark.req("argv-injection")
@given(a=st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_ordinary_text_arrives_as_it_is(a: str) -> None:
    built = argv_of(FORMS["template"], {"a": "x" + a, "b": a})
    assert built.argv == ("prog", "-v", "x" + a, f"--b={a}", "x" + a + a, "--", a)


@pytest.mark.req("argv-injection")
@pytest.mark.parametrize("value", ["--version", "-rf", "-", "-1"])
def test_a_leading_dash_needs_the_manifests_leave(value: str) -> None:
    plain = manifest_of("[args.x]", 'exec = ["ls", ["{x}"]]')
    assert [p.pointer for p in argv_of(plain, {"x": value}).problems] == ["/x"]
    opted = manifest_of("[args.x]\nallow_dash = true", 'exec = ["ls", ["{x}"]]')
    assert argv_of(opted, {"x": value}).argv == ("ls", value)
    ended = manifest_of("[args.x]", 'exec = ["ls", "--", ["{x}"]]')
    assert argv_of(ended, {"x": value}).argv == ("ls", "--", value)


@pytest.mark.req("argv-injection")
def test_options_that_the_manifest_lists_are_its_own() -> None:
    manifest = manifest_of(
        '[args.how]\ntype = "enum"\nallowed = ["-s", "-l"]', 'exec = ["ls", ["{how}"]]'
    )
    assert argv_of(manifest, {"how": "-l"}).argv == ("ls", "-l")
    assert argv_of(manifest, {"how": "-x"}).problems


@pytest.mark.req("argv-injection")
def test_numbers_are_held_to_the_same_rule() -> None:
    manifest = manifest_of('[args.n]\ntype = "integer"', 'exec = ["head", ["{n}"]]')
    assert argv_of(manifest, {"n": -5}).problems
    assert argv_of(manifest, {"n": 5}).argv == ("head", "5")


@pytest.mark.req("argv-optional")
def test_what_is_not_given_takes_its_group_with_it() -> None:
    manifest = manifest_of(
        '[args.n]\ntype = "integer"\n[args.path]\ntype = "path"\n[args.word]\ndefault = "w"',
        'exec = ["git", "log", ["-n", "{n}"], "{word}", ["--", "{path}"]]',
    )
    assert argv_of(manifest, {}).argv == ("git", "log", "w")
    assert argv_of(manifest, {"n": 3}).argv == ("git", "log", "-n", "3", "w")
    assert argv_of(manifest, {"path": "a b"}).argv == ("git", "log", "w", "--", "a b")


@pytest.mark.req("argv-optional")
def test_a_templates_item_is_left_out_with_its_argument() -> None:
    manifest = manifest_of("[args.x]\n[args.y]", 'template = "prog --x={x} {y}"')
    assert argv_of(manifest, {}).argv == ("prog",)
    assert argv_of(manifest, {"x": "", "y": "2"}).argv == ("prog", "--x=", "2")


@pytest.mark.req("argv-optional")
def test_a_mapping_turns_a_value_into_items() -> None:
    manifest = manifest_of(
        '[args.long]\ntype = "boolean"\n[args.by]\ntype = "enum"\nallowed = ["name", "size"]\n'
        'default = "name"',
        'template = "ls {_long_flags} {_by_flags} --"\n'
        '[command.mappings.long]\n"true" = "-l -h"\n'
        "[command.mappings.by]\nname = \"--format '%{{x}}'\"\nsize = '-S'",
    )
    assert argv_of(manifest, {}).argv == ("ls", "--format", "%{x}", "--")
    assert argv_of(manifest, {"long": True, "by": "size"}).argv == ("ls", "-l", "-h", "-S", "--")
    assert argv_of(manifest, {"long": False}).argv == ("ls", "--format", "%{x}", "--")


@pytest.mark.req("argv-optional")
@pytest.mark.parametrize(
    ("value", "text"), [(5.0, "5"), (0.1, "0.1"), (1e21, "1e+21"), (True, "true"), (-0.0, "0")]
)
def test_values_are_written_as_json_writes_them(value: Any, text: str) -> None:
    kind = "boolean" if value is True else "number"
    manifest = manifest_of(f'[args.x]\ntype = "{kind}"', 'exec = ["p", ["--x={x}"]]')
    assert argv_of(manifest, {"x": value}).argv == ("p", f"--x={text}")


@pytest.mark.req("argv-optional")
def test_doubled_braces_and_constants() -> None:
    manifest = manifest_of(
        "",
        "template = \"curl -w '%{{http_code}}' --retry {n} 'awk {print $1}'\"\n"
        "[command.defaults]\nn = 3",
    )
    assert argv_of(manifest, {}).argv == (
        "curl",
        "-w",
        "%{http_code}",
        "--retry",
        "3",
        "awk {print $1}",
    )


EVERYTHING = manifest_of(
    "[args.a]\nrequired = true\n[args.b]\n[args.many]\nlist = true\n"
    '[args.mode]\ntype = "enum"\nallowed = ["x", "y"]\ndefault = "x"',
    'exec = ["prog", "{_mode_flags}", ["--b", "={b}"], "{_both}", "--many={many}", "+{a}", "--",'
    ' "{many}", "{fixed}"]\n'
    '[command.defaults]\nfixed = "-end"\n[command.mappings.mode]\nx = "-x -X"\n'
    "[command.conditionals.both]\nwhen = \"a != 'no' and (b or mode == 'y')\"\n"
    "template = '-c {a}{b}'",
)


@pytest.mark.req("argv-injection")
@given(
    a=texts,
    b=st.none() | texts,
    many=st.none() | st.lists(texts, max_size=4),
    mode=st.sampled_from(["x", "y", None]),
)
def test_every_form_at_once_keeps_every_value_in_its_place(
    a: str, b: str | None, many: list[str] | None, mode: str | None
) -> None:
    named = {"a": a, "b": b, "many": many, "mode": mode}
    built = argv_of(EVERYTHING, {name: value for name, value in named.items() if value is not None})
    if built.problems:
        assert built.argv == ()
        return
    holds = a != "no" and (b not in (None, "", "false") or mode == "y") and b is not None
    assert built.argv == (
        "prog",
        *(("-x", "-X") if mode != "y" else ()),
        *(("--b", f"={b}") if b is not None else ()),
        *(("-c", f"{a}{b}") if holds else ()),
        *(f"--many={value}" for value in many or ()),
        f"+{a}",
        "--",
        *(many or ()),
        "-end",
    )
    assert not holds or not f"{a}{b}".startswith("-")


PATHS = manifest_of(
    '[args.x]\ntype = "path"\n[args.many]\ntype = "path"\nlist = true',
    'exec = ["prog", ["{x}"], ["--file={x}"], ["file:{x}"], ["./{x}"], "--", "{many}"]',
)


@pytest.mark.req("path-operand")
@pytest.mark.parametrize(
    "value",
    [
        "file:a.db", "host:a", "ab:c/d", ":memory:", ":(top)a", "x=1", "@a", "+a", "(", "!", "|a",
        "%a", "#a", "=a", ",a", "*", "[a]", "user@host:a",
    ],
)  # fmt: skip
def test_a_path_that_reads_as_something_else_is_written_as_a_file(value: str) -> None:
    assert argv_of(PATHS, {"x": value, "many": [value, "-a", "-"]}).argv == (
        *("prog", f"./{value}", f"--file=./{value}", f"file:{value}", f"./{value}"),
        *("--", f"./{value}", "./-a", "./-"),
    )


@pytest.mark.req("path-operand")
@pytest.mark.parametrize("value", ["a", "a b", ".hidden", "./a", "a/b:c", "dir/x=1", "é.txt", "_x"])
def test_a_plain_path_is_written_as_it_is(value: str) -> None:
    built = argv_of(PATHS, {"x": value})
    assert built.argv[:3] == ("prog", value, f"--file={value}")


@pytest.mark.req("path-operand")
def test_a_path_that_begins_with_a_dash_needs_the_manifests_leave() -> None:
    assert argv_of(PATHS, {"x": "-a"}).problems
    opted = manifest_of('[args.x]\ntype = "path"\nallow_dash = true', 'exec = ["cat", ["{x}"]]')
    assert argv_of(opted, {"x": "-"}).argv == ("cat", "-")
    listed = manifest_of(
        '[args.x]\ntype = "path"\nallowed = [":memory:"]', 'exec = ["sqlite3", ["{x}"]]'
    )
    assert argv_of(listed, {"x": ":memory:"}).argv == ("sqlite3", ":memory:")


@pytest.mark.req("path-operand")
@given(value=texts)
def test_no_path_begins_with_a_scheme_an_option_or_an_assignment(value: str) -> None:
    built = argv_of(PATHS, {"x": value, "many": [value]})
    if built.problems:
        return
    for operand in (built.argv[1], built.argv[-1], built.argv[2].partition("=")[2]):
        first = operand.partition("/")[0]
        assert first == "." or (
            not set(first) & set(":=") and (first[0].isalnum() or first[0] in "._")
        )
