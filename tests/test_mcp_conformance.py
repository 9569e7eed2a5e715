"""The official MCP conformance suite, where it is installed: ``docs/conformance.md`` says how."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import forked_commands
import pytest

import preloaded
from needs import require

SCRIPT = Path(__file__).parents[1] / "bench" / "conformance.sh"
PASSING = (
    "server-initialize",
    "ping",
    "logging-set-level",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-with-logging",
    "tools-call-elicitation",
    "resources-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)


@pytest.mark.conformance
@pytest.mark.req("mcp-conformance")
def test_what_is_offered_conforms(tmp_path: Path) -> None:
    folder = os.environ.get("CONFORMANCE_DIR", "")
    if not (folder and Path(folder, "node_modules", ".bin", "conformance").exists()):
        require("the MCP conformance suite", False)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    python = sys.executable if preloaded.CLONE is None else forked_commands.interpreter(tmp_path)
    with forked_commands.answering() as more:
        env = {**os.environ, "PYTHON": python, "PORT": port, **more}
        done = subprocess.run([SCRIPT], env=env, capture_output=True, text=True, timeout=300)
    server, _, client = done.stdout.partition("== client ==")
    passed = re.findall(r"✓ ([a-z-]+): \d+ passed, 0 failed", server)
    assert {*PASSING} <= {*passed}, done.stdout + done.stderr
    verdicts = re.findall(r"Starting scenario: (\S+).*?OVERALL: (\w+)", client, re.DOTALL)
    passing = (
        *("initialize", "tools_call", "sse-retry"),
        *("auth/client-credentials-basic", "auth/pre-registration"),
    )
    assert {(name, "PASSED") for name in passing} <= {*verdicts}
