"""``[session]`` as it is read, and terminal output as text."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artificer.backends.session.spec.commands import session_commands
from artificer.backends.session.spec.terminal_text import plain, without_echo
from artificer.errors import ManifestError
from artificer.manifests.parse import parse_manifest

HEAD = """[tool]
name = "t"
version = "1"
description = "A thing."
risk_tier = "medium"
timeout_seconds = 7
"""

SESSION = """[session]
startup_command = "cat"
ready_pattern = "> $"
startup_timeout_seconds = 3
"""

COMMAND = """[session.commands.run]
pattern = "[a-z]+"
description = "Run."
"""


@pytest.mark.req("session-gate")
def test_every_command_is_a_tool_of_its_own() -> None:
    strict = """[session.commands.drop]
template = "drop {x}"
description = "Drop."
risk_tier = "high"
human_approval = true
effect = "idempotent"
[session.commands.drop.args.x]
type = "integer"
required = true
"""
    manifest = parse_manifest(HEAD + SESSION + COMMAND + strict, "t.clad.toml")
    assert manifest.backend == "session"
    commands = session_commands(manifest.tool, manifest.part.keys, None)
    run, drop = (command.definition for command in commands)
    assert (run.name, run.risk, run.human_approval, run.effect) == (
        *("t.run", "medium", False, "once"),
    )
    assert (drop.name, drop.risk, drop.human_approval, drop.effect) == (
        *("t.drop", "high", True, "idempotent"),
    )
    assert run.timeout_ms >= 10_000 and run.backend == "session"
    assert run.input_schema["additionalProperties"] is False
    line = run.input_schema["properties"]["command"]  # type: ignore[index, call-overload]
    assert line["pattern"] == "^(?:[a-z]+)$"  # type: ignore[index, call-overload]


@pytest.mark.req("session-manifest")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (SESSION, "session.commands: is missing"),
        (SESSION + "[session.commands]\n", "session.commands"),
        (SESSION.replace("ready_pattern", "ready_patern") + COMMAND, "'ready_pattern'?"),
        (SESSION + COMMAND.replace("pattern", "patern"), "session.commands.run.patern"),
        (SESSION + COMMAND.replace("[a-z]+", "(?=a)"), "linear time"),
        (SESSION.replace("> $", "(") + COMMAND, "session.ready_pattern"),
        (SESSION.replace('"cat"', '"cat \'x"') + COMMAND, "session.startup_command"),
        (SESSION + COMMAND + '[args.x]\ntype = "string"\n', "commands have args of their own"),
        (SESSION + COMMAND + '[command]\ntemplate = "ls"\n', "is a second backend"),
        (SESSION + '[session.commands.run]\ndescription = "d"\n', "which lines may be sent"),
        (SESSION + COMMAND + '[session.commands.run.args.x]\ntype = "integer"\n', "template"),
        (
            SESSION + COMMAND + 'template = "say {x} {y}"\n[session.commands.run.args.x]\n'
            "required = true\n",
            "'y' is not an argument",
        ),
        (
            SESSION + COMMAND + 'template = "say"\n[session.commands.run.args.x]\n'
            'type = "integer"\n',
            "session.commands.run.args.x: is not used in the template",
        ),
        (
            SESSION + COMMAND + 'template = "say {x}"\n[session.commands.run.args.x]\n'
            "required = true\n",
            "nothing else would hold the value",
        ),
        (
            SESSION + COMMAND + 'template = "say {x}"\n[session.commands.run.args.x]\n'
            'type = "integr"\nrequired = true\n',
            "did you mean 'integer'?",
        ),
        (SESSION + COMMAND + '[session.events]\nevent_types = ["noise"]\n', "session.events"),
        (
            SESSION + COMMAND + '[session.child_detection]\npattern = "("\nmanifest = "c"\n',
            "session.child_detection.pattern: is not a regular",
        ),
        (
            SESSION.replace("> $", "")
            + COMMAND
            + '[session.child_detection]\npattern = "x"\nmanifest = "c"\n',
            "nothing tells its prompt",
        ),
        (SESSION + COMMAND.replace("run", "r" * 49), "session.commands"),
    ],
)
def test_a_session_that_could_not_be_performed_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ManifestError) as caught:
        parse_manifest(HEAD + text, "t.clad.toml")
    assert fault in caught.value.message
    assert "t.clad.toml:" in caught.value.message


@pytest.mark.req("session-manifest")
def test_a_mode_must_agree_with_the_section_that_is_there() -> None:
    head = HEAD + 'mode = "session"\n'
    assert parse_manifest(head + SESSION + COMMAND, "t.clad.toml").backend == "session"
    with pytest.raises(ManifestError, match=r"there is no \[session\]"):
        parse_manifest(head + '[command]\ntemplate = "ls"\n', "t.clad.toml")


@pytest.mark.req("terminal-text")
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\n", "plain\n"),
        (b"\x1b[1;31mred\x1b[m", "red"),
        (b"\x1b]0;a title\x07x\x1b]8;;http://h\x1b\\link", "xlink"),
        (b"\x1b(Bx\x1b=y\x1b[?2004hz", "xyz"),
        (b"10%\r100%\r\nnext", "100%\nnext"),
        (b"helo\blo", "hello"),
        (b"a\x00\x07b\tc\x7f", "ab\tc"),
        (b"\xff\xc3\xa9\xc3", "\ufffdé\ufffd"),
        (b"cut \x1b[3", "cut "),
    ],
)
def test_terminal_output_as_text(data: bytes, text: str) -> None:
    assert plain(data) == text


@pytest.mark.req("terminal-text")
@given(st.binary(max_size=200))
def test_no_control_character_is_left(data: bytes) -> None:
    left = {c for c in plain(data) if unicodedata.category(c) == "Cc"}
    assert left <= {"\n", "\t"}


@pytest.mark.req("terminal-text")
@pytest.mark.parametrize("piece", [b"\x1b[", b"\x1b]", b"\x1b[0", b"a\b", b"\r", b"\x1bP\x1b"])
def test_hostile_output_costs_no_more_than_its_length(piece: bytes) -> None:
    started = time.process_time()
    plain(piece * (1_000_000 // len(piece)))
    assert time.process_time() - started < 10  # a quadratic cost would be hours


@pytest.mark.req("session-output")
def test_an_echo_is_taken_away_once() -> None:
    assert without_echo("1+1\n1+1\n", "1+1") == "1+1\n"
    assert without_echo("2\n", "1+1") == "2\n"
