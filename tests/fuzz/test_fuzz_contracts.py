"""Input from authors and models: manifests, arguments, templates, targets, patches, outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fuzz_kit import bounded, corpus, declared, fuzz, trees
from hypothesis import given
from hypothesis import strategies as st

from artificer.backends.command.spec.argv import build_argv, parse_item, parse_template
from artificer.backends.command.spec.section import bind_command, command_line
from artificer.backends.host.spec import edit, patch
from artificer.backends.http.spec.request import build_request, described, resolved
from artificer.backends.mcp.spec.tools import McpContract, RemoteFacts, adopt
from artificer.backends.session.spec.line import targets
from artificer.backends.session.spec.terminal_text import plain, without_echo
from artificer.contracts.addresses import refuse_target, refuse_url
from artificer.contracts.arguments.condition import parse_condition
from artificer.contracts.names import SafeNames
from artificer.contracts.response_format import format_of
from artificer.contracts.schema import compile_schema
from artificer.contracts.scope import Scope
from artificer.contracts.strict_dialect import ANTHROPIC_STRICT, OPENAI_STRICT
from artificer.contracts.strict_schema import strict
from artificer.manifests.custom_types import parse_folder_keys
from artificer.manifests.model import Manifest
from artificer.manifests.output_formats import READERS
from artificer.manifests.parse import parse_manifest
from artificer.values.canon import canonical
from artificer.values.strict_json import parse_object

ROOT = Path(__file__).parents[2]
MANIFESTS = [
    p.read_text("utf-8")
    for folder in (ROOT / "examples" / "tools", ROOT / "tests" / "cases" / "manifests")
    for p in sorted(folder.rglob("*.clad.toml"))
]
FOLDERS = [
    '[types.s]\nbase = "enum"\nallowed = ["a"]\n[scope]\nallow = ["10.0.0.0/8", "*.e.org"]\n',
    *(p.read_text("utf-8") for p in sorted((ROOT / "examples" / "tools").rglob("toolclad.toml"))),
]
ARGUMENTS = (
    {"a": 1, "b": [1, 2, {"c": None}], "d": "text", "e": -1.5e10, "f": True},
    {"target": "10.0.0.1", "path": "a/b.txt", "url": "https://example.org/a?b=c", "count": 3},
    {"x": "a", "y": ["b", "c"], "port": 80, "cidr": "10.0.0.0/8", "duration": "1h30m"},
)
SCHEMA = {
    "type": "object",
    "title": "reply",
    "properties": {
        "a": {"type": "integer", "minimum": 1},
        "b": {"$ref": "#/$defs/B"},
        "c": {"anyOf": [{"type": "string", "pattern": "^a+$"}, {"type": "null"}]},
        "d": {"type": "array", "items": {"$ref": "#"}, "maxItems": 3},
    },
    "required": ["a"],
    "additionalProperties": False,
    "$defs": {"B": {"type": "string", "enum": ["x", "y"], "description": "d"}},
}


@pytest.mark.req("fuzz-authors")
@given(corpus(*MANIFESTS), trees(*ARGUMENTS), st.booleans())
@fuzz(80)
def test_a_manifest_is_read_or_refused_and_its_calls_are_bound(
    text: str, values: Any, compat: bool
) -> None:
    manifest = declared(lambda: parse_manifest(text, "a.clad.toml", compat=compat))
    if not isinstance(manifest, Manifest):
        return
    given = values if isinstance(values, dict) else {}
    assert manifest.definitions or manifest.backend in ("session", "browser")
    with bounded():
        if manifest.backend == "command":
            places = {"_scan_id": "s", "_evidence_dir": "/e", "_output_file": "f"}
            built = command_line(manifest, bind_command(manifest, given), places)
            assert built.problems or all(isinstance(word, str) for word in built.argv)
        elif manifest.backend == "http" and not (bound := manifest.bind(given)).problems:
            made = build_request(manifest.part, bound.values)
            if made.request:
                described(made.request.url)


@pytest.mark.req("fuzz-authors")
@given(corpus(*FOLDERS))
@fuzz()
def test_what_a_folder_shares_is_read_or_refused(text: str) -> None:
    declared(parse_folder_keys, text, "toolclad.toml")


@pytest.mark.req("fuzz-models")
@given(corpus(*(json.dumps(value) for value in ARGUMENTS)))
@fuzz(70)
def test_arguments_are_read_or_refused_and_what_is_read_can_be_written(text: str) -> None:
    with bounded():
        value = parse_object(text)
        if isinstance(value, dict):
            assert parse_object(canonical(value).decode()) == value


@pytest.mark.req("fuzz-authors")
@given(corpus("a == 'x' and (b > 3 or not c)", "not (a != true)", "x", "a <= 1.5 or b == ''"))
@fuzz(70)
def test_a_condition_is_read_or_refused(text: str) -> None:
    condition = declared(parse_condition, text, also=(ValueError,))
    if condition is not None:
        with bounded():
            condition.holds(dict.fromkeys(condition.names, 1))


@pytest.mark.req("fuzz-authors")
@given(
    corpus('grep -n "{x}" --in={y} -- {files}', "a 'b c' {x}{y} {{z}}", "p {_x_flags} \\{x}"),
    corpus("{x}", "--a={x}{y}", "{{x}}", "plain"),
)
@fuzz(70)
def test_a_template_is_read_or_refused_and_a_value_stays_in_its_item(text: str, item: str) -> None:
    declared(parse_item, item, also=(ValueError,))
    groups = declared(parse_template, text, also=(ValueError,))
    if groups:
        values: dict[str, Any] = dict.fromkeys(("x", "y", "z", "files"), "v w")
        declared(lambda: build_argv(groups, (), values), also=(KeyError,))


@pytest.mark.req("fuzz-models")
@given(
    corpus(
        "https://user@example.org:80/a/../b?c=%41#d",
        "http://[::1%25eth0]:8080/",
        "10.0.0.0/8",
        "::ffff:1.2.3.4",
        "0x7f.1",
        "xn--e1afmkfd.example.org",
        "*.example.org",
    ),
    corpus("10.0.0.0/8", "*.example.org", "https://api.example.net/v1", "::/0"),
)
@fuzz(70)
def test_a_target_is_judged(text: str, rule: str) -> None:
    with bounded():
        refuse_target(text)
        refuse_url(text, ("http", "https"))
        targets(text)
    scope = declared(lambda: Scope(allow=(rule,), block=("10.0.0.5",)), also=(ValueError,))
    if scope is not None:
        with bounded():
            scope.refusal(text)


PATCHES = (
    "--- a/x.txt\n+++ b/x.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
    "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+new\n"
    "\\ No newline at end of file\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n",
    "--- a/x.txt\n+++ b/x.txt\n@@ -1 +1,2 @@\n a\n+z\n@@ -3 +4 @@\n-c\n+C\n",
)
TEXT = "a\nb\nc\nd\r\ne"


@pytest.mark.req("fuzz-models")
@given(corpus(*PATCHES), corpus(TEXT, "a\nb\nc\n"))
@fuzz(70)
def test_a_patch_is_put_on_a_text_or_refused(text: str, file: str) -> None:
    for one in declared(patch.parse, text, also=(patch.PatchError,)) or ():
        with bounded():
            patch.apply(one, file)
            patch.apply(one, None)


@pytest.mark.req("fuzz-models")
@given(corpus(TEXT, "x" * 200 + "\n" + "y"), corpus("b\nc", "a", "  b\n c\n"), st.booleans())
@fuzz(70)
def test_an_edit_is_made_or_refused(file: str, old: str, everywhere: bool) -> None:
    with bounded():
        edit.edit(file, old, "new", everywhere=everywhere)


OUTPUTS = (
    '{"a": [1, 2.5, null, {"b": "c"}]}',
    '{"a": 1}\n{"a": 2}\n',
    'name,size\na,1\n"b ""q""",2\n',
    "a\tb\n1\t2\n",
    "<a x='1'><b>t</b><b/><c>&amp;&#65;</c></a>",
)


@pytest.mark.req("fuzz-models")
@pytest.mark.parametrize("name", [*READERS])
def test_an_output_is_read_or_refused(name: str) -> None:
    @given(corpus(*OUTPUTS))
    @fuzz(60)
    def check(text: str) -> None:
        value = declared(READERS[name][1], text, also=(ValueError, RecursionError))
        json.dumps(value)

    check()


@pytest.mark.req("fuzz-models")
@given(trees(SCHEMA), trees(*ARGUMENTS))
@fuzz(80)
def test_a_schema_is_used_or_refused(schema: Any, value: Any) -> None:
    if not isinstance(schema, dict):
        return
    compiled = declared(compile_schema, schema)
    if compiled is not None:
        with bounded():
            compiled.problems(value)
            for dialect in (OPENAI_STRICT, ANTHROPIC_STRICT):
                made = strict(schema, dialect)
                if isinstance(value, dict):
                    made.without_added_nulls(value)
    declared(format_of, schema)


@pytest.mark.req("fuzz-peers")
@given(
    trees(
        {"name": "a b/ü", "description": "Does.", "input_schema": SCHEMA, "output_schema": SCHEMA}
    )
)
@fuzz(70)
def test_a_servers_tool_is_adopted_or_refused(listed: Any) -> None:
    facts = declared(lambda: RemoteFacts.from_json(listed), also=(ValueError,))
    if facts is not None:
        declared(lambda: adopt("s", facts, McpContract()), also=(ValueError,))


@pytest.mark.req("fuzz-models")
@given(st.lists(corpus("a.b", "a_b", "math.add", "x" * 64, "é/ü"), min_size=1, max_size=6))
@fuzz(70)
def test_names_are_taken_back_from_the_wire(names: list[str]) -> None:
    safe = SafeNames(names)
    wire = {name: safe.to_wire(name) for name in names}
    assert len(set(wire.values())) == len(set(names))
    assert all(safe.from_wire(wire[name]) == name for name in names)


@pytest.mark.req("fuzz-models")
@given(corpus(b"\x1b[31mred\x1b[0m\r\n>>> x\x08y\r\n>>> ", b"\x1b]0;title\x07a\x1b[2Kb\rc"))
@fuzz(70)
def test_what_a_terminal_shows_holds_no_control(data: bytes) -> None:
    with bounded():
        text = plain(data)
        without_echo(text, text[:20])
    assert not any(ord(c) < 32 and c not in "\n\t\a" for c in text)
    assert plain(text.encode("utf-8", "replace")) == text


@pytest.mark.req("fuzz-models")
@given(
    corpus("https://h/{x}/a?k={_secret:k}&y={y}", "http://{x}:{port}/", "{url}"),
    corpus('{"a": "{x}", "b": "{_secret:k}"}', "a={x}&b={y}", "{x}"),
    corpus("v", "a/b", '"', "\r\nX: y"),
)
@fuzz(80)
def test_no_value_leaves_its_place_in_a_request(url: str, body: str, value: str) -> None:
    text = (
        '[tool]\nname = "t"\nversion = "1"\ndescription = "d"\n'
        '[args.x]\ntype = "string"\n[args.y]\ntype = "string"\n'
        f'[http]\nmethod = "POST"\nurl = {json.dumps(url)}\nbody_template = {json.dumps(body)}\n'
        'headers = { Content-Type = "application/json", X-A = "{x}" }\n'
    )
    manifest = declared(parse_manifest, text, "t.clad.toml")
    if manifest is None:
        return
    bound = manifest.bind({"x": value, "y": value})
    if bound.problems:
        return
    request = build_request(manifest.part, bound.values).request
    if request is None:
        return
    calm = build_request(manifest.part, manifest.bind({"x": "v", "y": "v"}).values).request
    assert calm is not None
    secrets = {"k": "s"}
    assert resolved(request.url, secrets).isascii() or not value.isascii() or not url.isascii()
    assert resolved(request.url, secrets).count("?") == resolved(calm.url, secrets).count("?")
    for _, pieces in request.headers:
        assert not {"\r", "\n", "\0"} & {*resolved(pieces, secrets)}
    if request.body and calm.body:
        assert _shape(json.loads(resolved(request.body, secrets))) == _shape(
            json.loads(resolved(calm.body, secrets))
        )


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shape(member) for name, member in value.items()}
    return [_shape(item) for item in value] if isinstance(value, list) else type(value)
