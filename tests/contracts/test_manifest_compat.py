"""``compat``: manifests of today work, and every leniency is told; what is unsafe stays refused."""

from __future__ import annotations

import pytest

from artificer.backends.browser.spec.commands import browser_commands
from artificer.errors import ManifestError
from artificer.manifests.model import Manifest
from artificer.manifests.parse import parse_manifest
from command_lines import argv_of

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
        (f'{HEAD}mode = "batch"\n[command]\nexec = ["true"]', "tool.mode"),
        (f'{HEAD}evidence = "all"\n[command]\nexec = ["true"]', "tool.evidence"),
        (f'{HEAD}[command]\nexec = ["true"]\n[output]\nformat = "yaml"', "output.format"),
        (f'{HEAD}binary = "other"\n[command]\nexec = ["true"]', "tool.binary says 'other'"),
        (f'{HEAD}[args.x]\n[command]\nexec = ["true"]', "args.x: is not used"),
        (f'{HEAD}[command]\nexec = ["true", "{{nowhere}}"]', "{nowhere} is not an argument"),
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
)
def test_what_the_reference_lets_pass_is_a_warning(text: str, words: str) -> None:
    manifest = lenient(text)
    assert any(words in warning for warning in manifest.warnings), manifest.warnings
    assert argv_of(manifest, {}).argv[0] == "true"


def test_a_default_that_breaks_its_type_is_left_out() -> None:
    text = f'{HEAD}[args.x]\ntype = "port"\ndefault = 0\n[command]\nexec = ["true", ["{{x}}"]]'
    assert argv_of(lenient(text), {}).argv == ("true",)


def test_unknown_placeholders_and_words_are_read_as_the_reference_reads_them() -> None:
    manifest = lenient(
        f'{HEAD}[args.mode]\n[command]\ntemplate = "echo {{nowhere}} {{_x}}"\n'
        '[command.conditionals.x]\nwhen = "mode == fast"\ntemplate = "--fast"'
    )
    assert argv_of(manifest, {"mode": "fast"}).argv == ("echo", "{nowhere}", "--fast")
    assert argv_of(manifest, {"mode": "slow"}).argv == ("echo", "{nowhere}")


def test_shell_characters_are_refused_as_the_reference_refuses_them() -> None:
    text = f'{HEAD}[args.x]\n[command]\nexec = ["echo", ["{{x}}"]]'
    assert argv_of(parse_manifest(text, "t"), {"x": "a;b"}).argv == ("echo", "a;b")
    assert argv_of(parse_manifest(text, "t", compat=True), {"x": "a;b"}).problems


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


ARGS = '[args.x]\nrequired = true\n{}\n[command]\nexec = ["true", "{{x}}"]'
SESSION_OF = '[session]\nstartup_command = "cat"\nready_pattern = ""\n{}'
BROWSER_OF = '[browser]\n[browser.scope]\nallowed_domains = ["a.example"]\n{}'
COMMAND = '\n[command]\nexec = ["true"]\n'


@pytest.mark.req("compat-fails-closed")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        (f'human_approval = "true"{COMMAND}', "tool.human_approval"),
        (f"human_approval = 1{COMMAND}", "tool.human_approval"),
        (f"human_aproval = true{COMMAND}", "tool.human_aproval"),
        (f"{COMMAND}human_approval = true", "command.human_approval"),
        (f'risk_tier = "High"{COMMAND}', "tool.risk_tier"),
        (f'risk_tier = "extreme"{COMMAND}', "tool.risk_tier"),
        (f'sensitive = "yes"{COMMAND}', "tool.sensitive"),
        (f'trust = "none"{COMMAND}', "tool.trust"),
        (f'effect = "Once"{COMMAND}', "tool.effect"),
        (f'dispatch = "rocket"{COMMAND}', "tool.dispatch"),
        (f'dispatch = "Callback"{COMMAND}', "tool.dispatch"),
        (f'timeout_seconds = "3"{COMMAND}', "tool.timeout_seconds"),
        (f"timeout_seconds = 0{COMMAND}", "tool.timeout_seconds"),
        (f"timeout = 3{COMMAND}", "tool.timeout"),
        (f'resources = "file:x"{COMMAND}', "tool.resources"),
        (f'cedar = "pay"{COMMAND}', "tool.cedar"),
        (f'[tool.sandbox]\nrequired = "true"{COMMAND}', "tool.sandbox.required"),
        (f'[tool.sandbox]\nnetwork = "no"{COMMAND}', "tool.sandbox.network"),
        (f"[tool.sandbox]\nread_only = true{COMMAND}", "tool.sandbox.read_only"),
        (f'[tool.limits]\nmemory_mb = "64"{COMMAND}', "tool.limits.memory_mb"),
        (f"[tool.limits]\nprocesses = 4{COMMAND}", "tool.limits.processes"),
        (f"[tool.probe]\nurl = 4{COMMAND}", "tool.probe.url"),
        (f'sandbox = "required"{COMMAND}', "tool.sandbox"),
        (f'{COMMAND}success_exit = "0"', "command.success_exit"),
        (f'[scope]\nallow = ["a.example"]{COMMAND}', "scope"),
        (ARGS.format('allowed = "a"'), "args.x.allowed"),
        (ARGS.format('scope_check = "true"'), "args.x.scope_check"),
        (ARGS.format('required = "yes"').replace("required = true\n", ""), "args.x.required"),
        (ARGS.format("requried = true"), "args.x.requried"),
        (ARGS.format("pattern = 4"), "args.x.pattern"),
        (ARGS.format("block_internal = true"), "args.x.block_internal"),
        (ARGS.format("max_length = 5"), "args.x.max_length"),
        (ARGS.format('type = "integer"\nmax = "10"'), "args.x.max"),
        (ARGS.format('type = "integer"\nallowed = ["1"]'), "args.x.allowed"),
        (ARGS.format("max = 10"), "args.x.max"),
        (ARGS.format('type = "url"\nschemes = "https"'), "args.x.schemes"),
        (ARGS.format('list = "no"'), "args.x.list"),
        (ARGS.format('allow_dash = "no"'), "args.x.allow_dash"),
        (SESSION_OF.format('[session.interaction]\ninput_sanitize = ["all"]'), "session.inter"),
        (SESSION_OF.format('max_interactions = "5"'), "session.max_interactions"),
        (SESSION_OF.format("idle_timeout = 5"), "session.idle_timeout"),
        (
            SESSION_OF.format('[session.commands.a]\npattern = "a"\nhuman_approval = "yes"'),
            "session.commands.a.human_approval",
        ),
        (BROWSER_OF.format('blocked_domains = "a"'), "browser.scope.blocked_domains"),
        (BROWSER_OF.format("blocked_hosts = []"), "browser.scope.blocked_hosts"),
        (
            BROWSER_OF.format("[browser.commands.click]\nhuman_approval = 'yes'"),
            "browser.commands.click.human_approval",
        ),
        ('[http]\nurl = "http://a.example"\nallow_private = "no"', "http.allow_private"),
        ('[http]\nurl = "http://a.example"\nsuccess_status = "200"', "http.success_status"),
    ],
)
def test_a_key_that_holds_a_call_back_must_be_readable(text: str, key: str) -> None:
    with pytest.raises(ManifestError) as caught:
        parse_manifest(HEAD + text, "t.clad.toml", compat=True)
    assert f": {key}" in caught.value.message


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
    assert manifest.part.keys.ready_pattern == ""
    assert manifest.part.keys.commands["read"].args == {}
    told = " ".join(manifest.warnings)
    for words in ("output: means nothing", "without a template", "taken to be 'read'"):
        assert words in told


def test_a_browser_of_the_reference_is_read() -> None:
    manifest = lenient(BROWSER)
    assert manifest.part.mode == "text"
    commands = browser_commands(manifest.tool, manifest.part)
    names = [[a.name for a in command.arguments] for command in commands]
    assert names == [["url"], ["selector"]]
    assert "args.button: is not an argument of this action" in " ".join(manifest.warnings)


@pytest.mark.parametrize("section", ['[session]\nstartup_command = "cat"\n', "[browser]\n"])
def test_a_section_that_offers_nothing_is_read(section: str) -> None:
    manifest = lenient(f'[tool]\nname = "t"\n{section}')
    assert "there is nothing that a model could call" in " ".join(manifest.warnings)
