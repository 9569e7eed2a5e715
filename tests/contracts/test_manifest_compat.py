"""``compat``: manifests of today work, and every leniency is told; what is unsafe stays refused."""

from __future__ import annotations

import pytest

from artificer.contracts.browser.model import browser_commands
from artificer.contracts.manifest.model import Manifest, parse_manifest
from artificer.errors import ManifestError

pytestmark = pytest.mark.req("manifest-compat")


def lenient(text: str) -> Manifest:
    with pytest.raises(ManifestError):
        parse_manifest(text, "folder/the_tool.clad.toml")
    return parse_manifest(text, "folder/the_tool.clad.toml", compat=True)


def test_what_is_missing_is_filled_in() -> None:
    manifest = lenient('[tool]\n[command]\ntemplate = "true"')
    assert (manifest.tool.name, manifest.tool.version) == ("the_tool", "0")
    assert manifest.tool.description == "the_tool"
    assert len(manifest.warnings) == 3
    assert manifest.warnings[0].startswith("folder/the_tool.clad.toml:1: tool.description: ")


HEAD = '[tool]\nname = "t"\nversion = "1"\ndescription = "A tool."\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'{HEAD}colour = "red"\n[command]\nexec = ["true"]', "tool.colour: is not a known key"),
        (f'{HEAD}timeout_seconds = "3"\n[command]\nexec = ["true"]', "tool.timeout_seconds"),
        (f'{HEAD}risk_tier = "extreme"\n[command]\nexec = ["true"]', "tool.risk_tier"),
        (f'{HEAD}binary = "other"\n[command]\nexec = ["true"]', "tool.binary says 'other'"),
        (f'{HEAD}[args.x]\n[command]\nexec = ["true"]', "args.x: is not used"),
        (f'{HEAD}[command]\nexec = ["true", "{{nowhere}}"]', "{nowhere} is no argument"),
        (f'{HEAD}[command]\nexec = ["true"]\ntemplate = "false"', "'template' would be ignored"),
        (
            f'{HEAD}[args.x]\ntype = "port"\ndefault = 0\n[command]\nexec = ["true", ["{{x}}"]]',
            "args.x.default: is too small",
        ),
        (
            f'{HEAD}[args.x]\nsanitize = ["trim"]\n[command]\nexec = ["true", ["{{x}}"]]',
            "args.x.sanitize",
        ),
        (
            f'{HEAD}[args.x]\n[command]\nexec = ["true", "-n", "{{x}}"]',
            "would leave '-n' alone",
        ),
    ],
)  # fmt: skip
def test_what_the_reference_lets_pass_is_a_warning(text: str, words: str) -> None:
    manifest = lenient(text)
    assert any(words in warning for warning in manifest.warnings), manifest.warnings
    assert manifest.argv({}).argv[0] == "true"


def test_unknown_placeholders_and_words_are_read_as_the_reference_reads_them() -> None:
    manifest = lenient(
        f'{HEAD}[args.mode]\n[command]\ntemplate = "echo {{nowhere}} {{_x}}"\n'
        '[command.conditionals.x]\nwhen = "mode == fast"\ntemplate = "--fast"'
    )
    assert manifest.argv({"mode": "fast"}).argv == ("echo", "{nowhere}", "--fast")
    assert manifest.argv({"mode": "slow"}).argv == ("echo", "{nowhere}")


def test_shell_characters_are_refused_as_the_reference_refuses_them() -> None:
    text = f'{HEAD}[args.x]\n[command]\nexec = ["echo", ["{{x}}"]]'
    assert parse_manifest(text, "t").argv({"x": "a;b"}).argv == ("echo", "a;b")
    assert parse_manifest(text, "t", compat=True).argv({"x": "a;b"}).problems


@pytest.mark.parametrize(
    "rest",
    [
        '[args.x]\nrequired = true\n[command]\nexec = ["{x}", "-u"]',
        '[args.x]\npattern = "(a"\n[command]\nexec = ["echo", "{x}"]',
        '[args.x]\ntype = "integer"\nmin = 10\nmax = 1\n[command]\nexec = ["echo", "{x}"]',
        '[args.x]\ntype = "nonsense"\n[command]\nexec = ["echo", "{x}"]',
        '[args.x]\nrequired = true\n[command]\nexec = ["sh", "-c", "echo {x}"]',
        '[args.x]\ntype = "path"\n[command]\nexec = ["cat", "a/{x}"]',
        "[args.x]",
        "[command]",
        '[command]\ntemplate = "echo \'"',
        'name = "../../../x"',
    ],
)
def test_what_is_unsafe_or_means_nothing_stays_refused(rest: str) -> None:
    head = HEAD if not rest.startswith("name") else '[tool]\nversion = "1"\n'
    with pytest.raises(ManifestError):
        parse_manifest(f"{head}{rest}", "t", compat=True)


SESSION = """
[tool]
name = "db"
mode = "session"
description = "A database."
[tool.evidence]
output_dir = "{evidence_dir}/{session_id}-db"
[session]
startup_command = "sqlite3 :memory:"
[session.commands.read]
pattern = "^SELECT .+$"
args.table = { type = "string" }
[output.schema]
type = "object"
[output.schema.properties.session_state]
type = "string"
"""

BROWSER = """
[tool]
name = "web"
mode = "browser"
description = "The web."
[browser]
engine = "cdp-direct"
connect = "live"
[browser.defaults]
extract_mode = "text"
[browser.scope]
allowed_domains = ["*.example.com"]
blocked_domains = ["admin.*"]
[browser.commands.navigate]
args.url = { type = "url", schemes = ["https"], scope_check = true }
[browser.commands.click]
args.selector = { type = "string" }
args.button = { type = "string" }
[output.schema]
type = "object"
"""


def test_a_session_of_the_reference_is_read() -> None:
    manifest = lenient(SESSION)
    assert manifest.session and manifest.session.ready_pattern == ""
    assert manifest.session.commands["read"].args == {}
    told = " ".join(manifest.warnings)
    for words in ("output: means nothing", "without a template", "taken to be 'read'"):
        assert words in told


def test_a_browser_of_the_reference_is_read() -> None:
    manifest = lenient(BROWSER)
    assert manifest.browser and manifest.browser.mode == "text"
    commands = browser_commands(manifest.tool, manifest.browser)
    names = [[a.name for a in command.arguments] for command in commands]
    assert names == [["url"], ["selector"]]
    assert "args.button: is no argument of this action" in " ".join(manifest.warnings)


@pytest.mark.parametrize("section", ['[session]\nstartup_command = "cat"\n', "[browser]\n"])
def test_a_section_that_offers_nothing_is_read(section: str) -> None:
    manifest = lenient(f'[tool]\nname = "t"\n{section}')
    assert "there is nothing that a model could call" in " ".join(manifest.warnings)
