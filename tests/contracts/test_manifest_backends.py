"""Manifests whose calls are requests, or tools of another MCP server."""

from __future__ import annotations

from pathlib import Path

import pytest

from artificer.errors import ManifestError
from artificer.manifests.parse import parse_manifest

EXAMPLES = Path(__file__).parents[2] / "examples"

TOOL = """
[tool]
name = "t"
version = "1"
description = "d"
effect = "keyed"

[args.x]
required = true
"""


@pytest.mark.req("manifest-backends")
def test_a_manifest_may_be_a_request() -> None:
    text = TOOL + '[http]\nmethod = "POST"\nurl = "https://h/{x}"\nbody = { x = "{x}" }\n'
    manifest = parse_manifest(text, "t.clad.toml")
    assert (manifest.definition.backend, manifest.definition.effect) == ("http", "keyed")
    assert manifest.definition.input_schema["required"] == ["x"]


@pytest.mark.req("manifest-backends")
def test_a_manifest_may_be_another_servers_tool() -> None:
    text = TOOL + '[mcp]\nserver = "s"\ntool = "search"\nfield_map = { x = "query" }\n'
    manifest = parse_manifest(text, "t.clad.toml")
    assert manifest.part.field_map == {"x": "query"}
    assert manifest.definition.backend == "mcp"


@pytest.mark.req("manifest-labels")
@pytest.mark.parametrize(
    "section",
    [
        '[command]\ntemplate = "echo {x}"\n',
        '[http]\nurl = "https://h/{x}"\n',
        '[mcp]\nserver = "s"\ntool = "search"\n',
    ],
    ids=["command", "http", "mcp"],
)
@pytest.mark.parametrize("sensitive", [True, False])
def test_a_sensitive_tool_is_known_as_one(section: str, sensitive: bool) -> None:
    text = TOOL.replace("[args.x]", f"sensitive = {str(sensitive).lower()}\n[args.x]") + section
    assert parse_manifest(text, "t.clad.toml").definition.sensitive is sensitive


@pytest.mark.req("manifest-labels")
@pytest.mark.parametrize(
    "section",
    [
        '[session]\nstartup_command = "cat"\nready_pattern = ""\n'
        '[session.commands.read]\npattern = "^read$"\ndescription = "Read."\n',
        '[browser.scope]\nallowed_domains = ["example.com"]\n'
        "[browser.commands.navigate]\n[browser.commands.click]\n",
    ],
    ids=["session", "browser"],
)
@pytest.mark.parametrize("sensitive", [True, False])
def test_so_is_each_command_of_a_sensitive_session_or_browser(
    section: str, sensitive: bool
) -> None:
    label = f"sensitive = {str(sensitive).lower()}"
    text = TOOL.replace("[args.x]\nrequired = true", label) + section
    definitions = parse_manifest(text, "t.clad.toml").definitions
    assert definitions and {definition.sensitive for definition in definitions} == {sensitive}


@pytest.mark.req("manifest-backends")
@pytest.mark.parametrize(
    ("section", "message"),
    [
        ('[http]\nurl = "ftp://h/{x}"\n', "t.clad.toml:11: http.url: must begin with http"),
        ('[http]\nurl = "http://h/{x}"\nheader = {}\n', "http.header: is not a known key"),
        ('[http]\nurl = "http://h/{x}"\n[http.headers]\nHost = "a"\n', "headers.Host: is written"),
        (
            '[mcp]\nserver = "s"\ntool = "t"\nfield_map = { y = "z" }\n',
            "y: is not an argument",
        ),
        ('[mcp]\nserver = "s"\ntool = "t"\n[http]\nurl = "http://h/{x}"\n', "a second backend"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(section: str, message: str) -> None:
    with pytest.raises(ManifestError) as caught:
        parse_manifest(TOOL + section, "t.clad.toml")
    assert message in caught.value.message


@pytest.mark.req("manifest-backends")
@pytest.mark.parametrize("folder", ["tools/http", "mcp/tools"])
def test_the_examples_are_read(folder: str) -> None:
    files = sorted((EXAMPLES / folder).glob("*.clad.toml"))
    assert files
    for file in files:
        assert parse_manifest(file.read_text(), str(file)).backend in ("http", "mcp")
